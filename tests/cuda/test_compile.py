"""Every kernel compiles to PTX for compute capability 8.0 and 9.0 without a GPU, float32 kernels hold no float64 instruction, and the documented
failures of numba-cuda 0.30 are met."""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed")

import npgrad
from npgrad.cuda import cache, launch
from npgrad.cuda import compile as compiler
from npgrad.cuda.fuse import SPELLING, Chain, Operation, _Plan
from npgrad.cuda.kernels import (
    batch_norm,
    conv2d_grad_bias,
    conv2d_grad_input,
    conv2d_grad_weight,
    conv_direct,
    conv_rows,
    conv_tile,
    conv_weight_tile,
    cross_entropy,
    group_norm,
    index_add,
    looped,
    row_norms,
    row_sums,
    rows,
    scatter_add,
    sixteen,
)
from npgrad.cuda.source import ELEMENTS

from .standing import Interpreted, device, to_device

CAPABILITIES = [(8, 0), (9, 0)]
F32, F16, BF16 = (ELEMENTS[k] for k in ("float32", "float16", "bfloat16"))


def shape_of(columns: int, element: Any) -> Any:
    return rows.share(columns, element, True)


def row_kernels() -> dict[str, Any]:
    found = {}
    for element, columns in [
        (F32, 7),
        (F32, 128),
        (F32, 1024),
        (F32, 4096),
        (F32, 16384),
        (F32, 1023),
        (BF16, 4096),
        (F16, 1000),
        (F16, 1024),
    ]:
        shape = shape_of(columns, element)
        label = f"{element.name} {columns}"
        found[f"layer_norm backward {label}"] = lambda v, s=shape, e=element: (
            row_norms.norm_backward(s, e, True, True, "atomic", v)
        )
        found[f"softmax backward {label}"] = lambda v, s=shape, e=element: rows.softmax_backward(
            s, e, False
        )
        found[f"layer_norm forward {label}"] = lambda v, s=shape, e=element: row_norms.norm_forward(
            s, e, True, True, True
        )
    shape = shape_of(768, F32)
    found["rms_norm backward ordered"] = lambda v: row_norms.norm_backward(
        shape, F32, False, True, "partials", v
    )
    found["softmax forward"] = lambda v: rows.softmax_forward(shape, F32, False)
    found["log_softmax forward"] = lambda v: rows.softmax_forward(shape, F32, True)
    found["log_softmax backward"] = lambda v: rows.softmax_backward(shape, F32, True)
    found["column_sum"] = lambda v: row_sums.column_sum()
    found["long norm backward"] = lambda v: looped.norm_backward(70000, F32, 4, True, True)
    found["long norm forward"] = lambda v: looped.norm_forward(70001, F32, 1, True, True, True)
    found["long softmax backward"] = lambda v: looped.softmax_backward(70000, BF16, 8, False)
    found["long softmax forward"] = lambda v: looped.softmax_forward(70000, F32, 4, True)
    for mode in ("row", "uncentred", "column", "moments"):
        found[f"column_partials {mode}"] = lambda v, m=mode: looped.column_partials(F32, 4, m)
    return found


def other_kernels() -> dict[str, Any]:
    weight = conv_weight_tile.Problem(1, 64, 64, 14, 14, 14, 14, (3, 3), (1, 1), (1, 1), (1, 1))
    (problem, flat), *_ = conv2d_grad_input.classes(
        1, 64, 64, (14, 14), (14, 14), (3, 3), (1, 1), (1, 1), (1, 1)
    )
    small = (4, 4, (14, 14), (14, 14), (3, 3), (1, 1), (1, 1), (1, 1))
    found = {
        "group_norm forward": lambda v: group_norm.group_forward(F32, 4, 2, 196, 32, True, True),
        "group_norm backward": lambda v: group_norm.group_backward(
            F32, 4, 2, 196, 32, True, "atomic"
        ),
        "batch_norm sums": lambda v: batch_norm.channel_partials(F32, 4, 196, "column"),
        "batch_norm backward": lambda v: batch_norm.channel_apply(
            F32, 4, 196, "backward", True, False
        ),
        "batch_norm forward": lambda v: batch_norm.channel_apply(
            BF16, 1, 49, "forward", True, True
        ),
        "batch_norm of rows": lambda v: looped.column_apply(F32, 4, "backward", True, False),
        "index_add": lambda v: index_add.chunk_add(4, 16, 1, False, True, "int64", v),
        "index_add 1-D": lambda v: index_add.chunk_add(1, 1, 1, False, True, "int32", v),
        "index_add ordered": lambda v: index_add.segment_add(4, 32, 2, True, False),
        "scatter_add": lambda v: scatter_add.scatter_rows(4096, 512, 512, True, "int64", True),
        "widen": lambda v: sixteen.convert(BF16, F32, 8),
        "narrow": lambda v: sixteen.convert(F32, F16, 8),
        "cross_entropy forward": lambda v: cross_entropy.row_losses(10, "int64"),
        "cross_entropy backward": lambda v: cross_entropy.logits_gradient(1000, "int32"),
        "conv weights": lambda v: conv_tile.arrange_weights(flat, True, 4),
        "conv grad bias": lambda v: conv2d_grad_bias.channel_sums(196, 4),
        "conv sum of splits": lambda v: conv2d_grad_weight.sum_splits(9, 8),
        "conv direct input": lambda v: conv_direct.input_gradient(32, *small),
        "conv direct weight": lambda v: conv_direct.weight_gradient(32, *small, True),
    }
    whole = conv_rows.Rows(128, 7, 7, 7, 7, 3, 1, 1, 1, 3, 1)
    part = conv_rows.Rows(128, 28, 28, 30, 28, 3, 1, 1, 1)
    for kind in ("split", "high", "words"):
        for flag, sizes in ((False, part), (True, whole)):
            found[f"position rows {kind} {flag}"] = lambda v, k=kind, f=flag, s=sizes: (
                conv_rows.position_rows(s, k, f)
            )
            found[f"filter rows {kind} {flag}"] = lambda v, k=kind, f=flag: conv_rows.filter_rows(
                (3, 3), f, not f, k
            )
    found["maxima"] = lambda v: conv_rows.maxima((2, 9), (4, 1))
    found["maxima of images"] = lambda v: conv_rows.maxima((0, 0), (4, 1), 256)
    found["maxima of a filter"] = lambda v: conv_rows.filter_maxima(9, 1024)
    found["sum of chunks"] = lambda v: conv_rows.sum_chunks((3, 3), False, 8, True)
    found["sum of folded chunks"] = lambda v: conv_rows.sum_chunks((3, 3), True, 1, True)
    found["planes of rows"] = lambda v: conv_rows.planes("float32", True)
    found["planes of words"] = lambda v: conv_rows.planes("bfloat16", False)
    for mode in ("tf32x3", "tf32"):
        found[f"conv grad weight {mode}"] = lambda v, m=mode: conv2d_grad_weight.partial_products(
            weight, conv_weight_tile.choose(weight, m), m
        )
        found[f"conv grad input {mode}"] = lambda v, m=mode: conv_tile.convolve(
            problem, conv_tile.choose(problem, 32, m), m
        )
    return found


KERNELS = {**row_kernels(), **other_kernels()}


@pytest.mark.parametrize("capability", CAPABILITIES, ids=str)
@pytest.mark.parametrize("name", KERNELS)
def test_compiles_without_float64(name: str, capability: tuple[int, int]) -> None:
    text = compiler.ptx(KERNELS[name](capability >= (9, 0)), capability)
    assert f".target sm_{capability[0]}{capability[1]}" in text
    assert not re.findall(r"\.f64", text)
    assert ".local" not in text  # registers, not memory


@pytest.mark.parametrize("name", sorted(SPELLING))
def test_fused_rules_stay_in_float32(name: str) -> None:
    count = 1 + max([int(n) for n in re.findall(r"\{(\d)\}", SPELLING[name])], default=0)
    compares = name in (
        "equal",
        "greater",
        "greater_equal",
        "less",
        "less_equal",
        "not_equal",
    ) or name.startswith(("is", "logical"))
    inputs = [Operation("input", value=i) for i in range(count)]
    if name == "where":
        inputs[0] = Operation("input", dtype="bool", value=0)
    chain = Chain(
        [*inputs, Operation(name, tuple(range(count)), "bool" if compares else "float32")], [count]
    )
    text = compiler.ptx(chain.program(_Plan((), ("all",) * count, False)), (9, 0))
    if name not in ("sin", "cos", "tan"):  # libdevice reduces large arguments of these in float64
        assert ".f64" not in text


def test_a_backward_from_its_rules_stays_in_float32() -> None:
    class Kept(Interpreted):
        def run(self, chain: Any, shape: Any, arrays: Any, numbers: Any) -> Any:
            chains.append(chain)
            return super().run(chain, shape, arrays, numbers)

    def f(x: Any, w: Any) -> Any:
        t = np.tanh(x * 1.01 + w) * 0.9
        t = np.where(t > 0.1, np.sqrt(t * t + 1.0), 2.0 / t) ** 3
        return np.sum(np.exp(-t) * np.maximum(x, w) + np.log1p(np.abs(x)))

    chains: list[Any] = []
    x, w = np.float32([0.3, -1.2, 2.0]), np.float32([1.5, -0.5, 2.5])
    npgrad.grad(f, (0, 1))(x, w)
    with device(Kept(1)):
        npgrad.grad(f, (0, 1))(to_device(x), to_device(w))
    assert max(len(chain.operations) for chain in chains) > 30
    for chain in chains:
        layouts = ("all",) * len(chain.inputs)
        for capability in CAPABILITIES:
            text = compiler.ptx(chain.program(_Plan((), layouts, False)), capability)
            assert ".f64" not in text


def test_products_are_rounded_before_they_are_added() -> None:
    x, y = Operation("input", value=0), Operation("input", value=1)
    chain = Chain([x, y, Operation("multiply", (0, 1)), Operation("add", (2, 0))], [3])
    text = compiler.ptx(chain.program(_Plan((), ("all", "all"), False)), (9, 0))
    assert "fma" not in text
    assert "mul.rn.f32" in text


def test_python_literals_and_integers_do_not_widen() -> None:
    x, n = Operation("input", value=0), Operation("input", dtype="int32", value=1)
    one = Operation("constant", value=1)
    operations = [
        x,
        n,
        one,
        Operation("divide", (2, 0)),
        Operation("add", (3, 1)),
        Operation("multiply", (4, 4)),
    ]
    text = compiler.ptx(Chain(operations, [5]).program(_Plan((), ("all", "all"), False)), (9, 0))
    assert ".f64" not in text


def test_vector_reduction_only_where_it_exists() -> None:
    new = compiler.ptx(KERNELS["index_add"](True), (9, 0))
    old = compiler.ptx(KERNELS["index_add"](False), (8, 0))
    assert "add.v4.f32" in new
    assert "add.v4.f32" not in old


def test_row_stack_is_mended() -> None:
    """numba-cuda 0.30 reads np.row_stack, gone from NumPy 2.5."""
    code = (
        "import numpy as np\n"
        "if hasattr(np, 'row_stack'): del np.row_stack\n"
        "from npgrad.cuda import compile as c\n"
        "from npgrad.cuda.kernels import row_sums\n"
        "assert 'entry' in c.ptx(row_sums.column_sum(), (9, 0))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr


def test_machine_code_is_cached_and_damage_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPGRAD_CUDA_CACHE", str(tmp_path))
    program = row_sums.column_sum()
    code, entry = compiler.cubin(program, (9, 0))
    assert code.startswith(b"\x7fELF")
    monkeypatch.setattr(compiler, "ptx", lambda *_: pytest.fail("compiled again"))
    assert compiler.cubin(program, (9, 0)) == (code, entry)
    (file,) = tmp_path.glob("*.bin")
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(bytes(data))
    assert cache.load(cache.key(program, (9, 0))) is None
    file.write_bytes(b"half")
    assert cache.load(cache.key(program, (9, 0))) is None


def test_key_covers_what_changes_the_code() -> None:
    program = row_sums.column_sum()
    keys = {cache.key(program, (9, 0)), cache.key(program, (8, 0))}
    for change in (
        {"source": program.source + "\n"},
        {"threads": 512},
        {"blocks": 2},
        {"signature": ("float32*",)},
    ):
        keys.add(cache.key(launch.Program(**{**vars(program), **change}), (9, 0)))
    assert len(keys) == 6


def test_cached_code_loads_without_numba(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPGRAD_CUDA_CACHE", str(tmp_path))
    compiler.cubin(row_sums.column_sum(), (9, 0))
    code = (
        "import sys\n"
        "from npgrad.cuda import compile as c\n"
        "from npgrad.cuda.kernels import row_sums\n"
        "assert c.cubin(row_sums.column_sum(), (9, 0))[0][:4] == b'\\x7fELF'\n"
        "assert 'numba' not in sys.modules and 'cupy' not in sys.modules, 'heavy import'\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr


def test_unknown_spelling_and_wrong_order_are_named() -> None:
    x = Operation("input", value=0)
    with pytest.raises(NotImplementedError, match=r"np\.packbits"):
        Chain([x, Operation("packbits", (0,))], [1])
    with pytest.raises(ValueError, match="does not come before"):
        Chain([x, Operation("exp", (1,))], [1])
    with pytest.raises(TypeError, match="complex64"):
        Chain([Operation("input", dtype="complex64", value=0)], [0])


def test_host_arrays_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match="to_device"):
        launch.backend_of(np.ones(3))
