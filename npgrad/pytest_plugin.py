"""The pytest plugin under the package's name: ``pytest -p npgrad.pytest_plugin``.

Installed, it is found without that (entry point ``pytest11``). The plugin itself is the module
`pytest_npgrad`, so that pytest need not import npgrad to find it.
"""

from pytest_npgrad import assert_grad, check_grads, pytest_addoption, pytest_runtest_makereport

__all__ = ["assert_grad", "check_grads", "pytest_addoption", "pytest_runtest_makereport"]
