"""Gradient checks: `check_grads`, `assert_grad`, and the differences they rest on.

`check_grads` asks whether npgrad's derivatives of a function are right; `assert_grad` whether a
gradient that somebody wrote by hand is. Both compare with finite differences that know their own
error; `assert_grad` also says what a complex step gives, so that it is clear who is wrong.
The fixtures for pytest are in `npgrad.pytest_plugin`.
"""

from npgrad.testing.derivatives import check_grads as check_grads
from npgrad.testing.differences import finite_difference_grad as finite_difference_grad
from npgrad.testing.handwritten import assert_grad as assert_grad

__all__ = ["assert_grad", "check_grads", "finite_difference_grad"]
