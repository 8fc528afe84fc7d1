"""A script's own modules are wrapped with its functions; installed ones are not."""

import os
import subprocess
import sys
import textwrap

import npgrad

MODEL = """
    import numpy as np
    import helper

    def filled(p):
        b = np.zeros(3)
        b[0] = 2 * p[0]
        return b.sum()

    def typed(p):
        return (p**2).sum() if type(p) is np.ndarray else 7.0 * p.sum()

    def helped(p):
        return helper.first(p)
"""
HELPER = """
    import numpy as np

    def first(p):
        return np.array([p[0], 1.0]).sum() if type(p[0]) is np.float64 else 0.0
"""
LATE = """
    import numpy as np

    def last(p):
        b = np.zeros(2)
        b[1] = 3 * p[2]
        return b.sum()
"""
SCRIPT = """
    import numpy as np
    import npgrad, model

    def late(p):
        import parts.late
        return parts.late.last(p)

    p = np.array([1.0, 2.0, 0.5])
    for f, value, gradient in (
        (lambda p: model.filled(p), 2.0, [2, 0, 0]),
        (lambda p: model.typed(p), 5.25, [2, 4, 1]),
        (lambda p: model.helped(p), 2.0, [1, 0, 0]),
        (model.helped, 2.0, [1, 0, 0]),
        (late, 1.5, [0, 0, 3]),
    ):
        found = npgrad.value_and_grad(f)(p)
        assert found[0] == value and (found[1] == gradient).all(), found
    print("right")
"""


def run(folder, *command):
    root = os.path.dirname(os.path.dirname(os.path.abspath(npgrad.__file__)))
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([root, str(folder / "installed")])},
        capture_output=True,
        text=True,
        check=False,
    )


def written(folder, **texts):
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))


def test_modules_beside_a_script(tmp_path):
    written(tmp_path, main=SCRIPT, model=MODEL, helper=HELPER)
    written(tmp_path / "parts", late=LATE)
    done = run(tmp_path, "main.py")
    assert done.stdout == "right\n", done.stderr


def test_modules_beside_one_that_is_run_in_a_package(tmp_path):
    written(tmp_path, model=MODEL, helper=HELPER)
    written(tmp_path / "parts", late=LATE, main=SCRIPT)
    done = run(tmp_path, "-m", "parts.main")
    assert done.stdout == "right\n", done.stderr


def test_modules_of_another_folder_are_named(tmp_path):
    written(tmp_path / "installed", model=MODEL, helper=HELPER)
    written(tmp_path, main=SCRIPT)
    done = run(tmp_path, "main.py")
    assert "also=('model',)" in done.stderr
