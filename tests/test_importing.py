"""What `import npgrad` loads, and that whatever is used first finds the rest."""

import ast
import inspect
import subprocess
import sys

import pytest

import npgrad


def in_a_fresh_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# What comes with `import npgrad`, and what not before it is used (docs/decisions/0004).
LATER = {
    "numba", "scipy", "optree", "cupy", "dask", "tqdm", "dataclasses", "numpy.fft",
    "npgrad.compiled", "npgrad.profiling", "npgrad.rules", "npgrad.tape", "npgrad.transforms",
    "npgrad.wrapping",
}  # fmt: skip


def loaded_after(statements: str) -> set[str]:
    code = f"import sys, numpy; before = set(sys.modules)\n{statements}\n"
    return set(in_a_fresh_process(f"{code}print(*(set(sys.modules) - before))").split())


def test_import_loads_what_a_recorded_array_is() -> None:
    new = loaded_after("import npgrad")
    assert not new & LATER
    assert {name.partition(".")[0] for name in new} - sys.stdlib_module_names == {"npgrad"}
    assert len([name for name in new if name.startswith("npgrad")]) < 60


@pytest.mark.parametrize(
    ("statements", "missing"),
    [
        ("import npgrad; +npgrad.array(1.0)[()]", {"npgrad.wrapping", "npgrad.tape"}),
        ("import npgrad; npgrad.grad(lambda x: x * x)(1.0)", {"npgrad.compiled", "npgrad.tape"}),
    ],
)
def test_a_call_loads_what_it_needs(statements: str, missing: set[str]) -> None:
    new = loaded_after(statements)
    assert "npgrad.rules" in new
    assert not new & (missing | {"numba", "scipy", "optree"})


@pytest.mark.parametrize(
    "statements",
    [
        "x = npgrad.array([1.0, 2.0]); print(x[0].backward()[x].tolist())",  # no rule is met
        "x = npgrad.array([1.0, 2.0]); print((x.reshape(2, 1) * [[1], [0]]).sum().backward()[x])",
        "x = npgrad.array([1.0, 2.0]); print(np.add.reduce(x * [1, 0.0]).backward()[x])",
        "x = npgrad.array([1.0, 2.0]); print(x.view(complex).real.sum().backward()[x])",
        "print(npgrad.grad(lambda x: x[0], wrap=False)(np.ones(2)))",
        "from npgrad.transforms.grad import grad; print(grad(lambda x: x[0])(np.ones(2)))",
        "import npgrad.nn; print(npgrad.grad(lambda x: npgrad.nn.relu(x)[0])(np.ones(2)))",
        "from npgrad import *; print(grad(lambda x: x[0])(np.ones(2)))",
        "import npgrad.profiling as p; print(npgrad.profile is p.profile and '1 0')",
    ],
)
def test_whatever_comes_first_finds_its_parts(statements: str) -> None:
    text = in_a_fresh_process(f"import numpy as np, npgrad\n{statements}")
    assert [float(part.strip("[], .")) for part in text.replace(",", " ").split()] == [1.0, 0.0]


def test_no_thread_meets_half_of_the_rules() -> None:
    """One starts when np.sum is decided, and what becomes of its `initial=` not yet."""
    code = """
import sys, threading, time
import numpy as np, npgrad
x, found = npgrad.array([1.0, 2.0]), []

def other():
    found.append(np.sum(x, initial=x[0] ** 3).backward()[x].tolist())

class Hook:
    def find_spec(name, path=None, target=None):
        if name == "npgrad.rules.initial":
            assert np.sum in npgrad._table.words._TABLE
            thread.start()
            time.sleep(0.3)

thread = threading.Thread(target=other)
sys.meta_path.insert(0, Hook)
np.sin(x)
thread.join()
print(found)
"""
    assert in_a_fresh_process(code) == "[[4.0, 1.0]]"


def test_exported_names_are_those_of_the_first_page() -> None:
    for name in (
        "GradArray", "GradStore", "Tape", "errors", "array", "value", "grad", "value_and_grad",
        "vjp", "jvp", "linearize", "jacobian", "jacrev", "jacfwd", "hessian", "hvp",
        "elementwise_grad", "no_grad", "stop_gradient", "debug",
    ):  # fmt: skip
        assert hasattr(npgrad, name), name
        assert name in dir(npgrad)
        assert name in npgrad.__all__


def test_names_that_load_on_use_are_those_that_type_checkers_see() -> None:
    tree = ast.parse(inspect.getsource(npgrad))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == npgrad._LATE
    assert set(npgrad.__all__) <= set(dir(npgrad))
    with pytest.raises(AttributeError, match="no attribute 'gard'"):
        npgrad.gard
