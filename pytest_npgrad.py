"""The pytest plugin: fixtures `check_grads` and `assert_grad`, and their options.

A module of its own, beside the package: pytest imports the plugins of everything installed, and a
suite that does not use these fixtures pays for neither NumPy nor npgrad.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from typing import Any

import pytest

SEEDS = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("npgrad", "gradient checks")
    group.addoption(
        "--npgrad-rtol",
        type=_rtol,
        default=None,
        metavar="R",
        help="relative tolerance, up to 0.1, of check_grads and assert_grad by default",
    )
    group.addoption(
        "--npgrad-samples",
        type=_samples,
        default=1,
        metavar="N",
        help="random directions that check_grads tries (default 1)",
    )
    group.addoption(
        "--npgrad-seed",
        type=_seed_number,
        default=None,
        metavar="S",
        help="seed of the random directions, as a failure reported it; by default made from the "
        "name of the test",
    )


def _rtol(text: str) -> float:
    try:
        rtol = float(text)
    except ValueError:
        rtol = -1.0
    if not 0 <= rtol <= 0.1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no relative tolerance; from 0 to 0.1, beyond which wrong gradients pass"
        )
    return rtol


def _samples(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} directions check nothing; at least 1 is needed")
    return int(text)


def _seed_number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no seed; 0, 1, 2, ...")
    return int(text)


def _seed(request: pytest.FixtureRequest) -> int:
    """The seed of this test: given, or the same on every machine for a test of this name."""
    given = request.config.getoption("--npgrad-seed")
    if given is None:
        import zlib

        given = zlib.crc32(request.node.nodeid.encode())
    request.node.stash[SEEDS] = given
    return int(given)


@pytest.fixture
def check_grads(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`npgrad.testing.check_grads` with this run's seed, samples and tolerance."""
    from npgrad.testing import check_grads as check

    defaults: dict[str, Any] = {
        "seed": _seed(request),
        "samples": request.config.getoption("--npgrad-samples"),
        "rtol": request.config.getoption("--npgrad-rtol"),
    }
    return functools.partial(check, **defaults)


@pytest.fixture
def assert_grad(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`npgrad.testing.assert_grad` with this run's tolerance."""
    from npgrad.testing import assert_grad as check

    rtol = request.config.getoption("--npgrad-rtol")
    return check if rtol is None else functools.partial(check, rtol=rtol)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Say in a failure's report with which seed it can be repeated."""
    outcome = yield
    report = outcome.get_result()
    seed = item.stash.get(SEEDS, None)
    if seed is not None and report.failed:
        report.sections.append(("npgrad", f"repeat with --npgrad-seed={seed}"))
