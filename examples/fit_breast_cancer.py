"""Fit somebody's NumPy loss on real data with SciPy, the gradient by npgrad.

The data are the 569 biopsies that scikit-learn ships; the loss is ``examples/loss_numpy.py``, plain
NumPy with nothing of npgrad inside. Run it with ``python examples/fit_breast_cancer.py``; it ends
with an error if the gradient differs from central differences by more than rounding explains.
"""

import importlib.util
import sys
import time

import loss_numpy
import numpy as np
from scipy.optimize import approx_fprime, minimize
from sklearn.datasets import load_breast_cancer

import npgrad

ALLOWED = 1e-7  # central differences of a loss near 1 have an error of about 1e-10


def load_data():
    """Read the standardised measurements and labels; every fourth biopsy is held out."""
    data = load_breast_cancer()
    x = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    held_out = np.arange(len(x)) % 4 == 0
    labels = data.target.astype(float)
    return x[~held_out], labels[~held_out], x[held_out], labels[held_out]


def central_differences(function, weights, step=1e-6):
    """Two calls of the function for each weight."""
    gradient = np.empty_like(weights)
    for i in range(len(weights)):
        shift = np.zeros_like(weights)
        shift[i] = step
        gradient[i] = (function(weights + shift) - function(weights - shift)) / (2 * step)
    return gradient


def forward_differences(weights, *others):
    """Take the gradient as SciPy does when it is given none."""
    return approx_fprime(weights, loss_numpy.loss, 1.5e-8, *others)


def with_autograd():
    """Give the same loss to autograd, whose NumPy must be swapped in; None if not installed."""
    if importlib.util.find_spec("autograd") is None:
        return None
    import autograd
    import autograd.numpy

    spec = importlib.util.find_spec("loss_numpy")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.np = autograd.numpy
    return autograd.value_and_grad(module.loss)


def shortest(function, *arguments, repeat=10):
    """Return the shortest time of one call, in seconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    """Fit by each way of getting a gradient and print them side by side."""
    x, labels, x_new, labels_new = load_data()
    start = 0.3 * np.random.default_rng(0).normal(size=loss_numpy.count_weights(x.shape[1]))
    print(f"breast cancer: {len(x)} biopsies to fit, {len(x_new)} held out, {x.shape[1]} features")
    print(f"loss: examples/loss_numpy.py, plain NumPy, {len(start)} weights\n")

    def plain(weights):
        return loss_numpy.loss(weights, x, labels)

    ways = {
        "npgrad": (npgrad.value_and_grad(loss_numpy.loss), True),
        "autograd": (with_autograd(), True),
        "finite differences": (loss_numpy.loss, None),
    }
    head = ("loss", "accuracy", "iterations", "fit in s", "one gradient in ms")
    print(f"{'gradient by':20}{head[0]:>10}{head[1]:>10}{head[2]:>12}{head[3]:>10}{head[4]:>20}")
    found = {}
    for name, (function, jac) in ways.items():
        if function is None:
            print(f"{name:20}not installed")
            continue
        begin = time.perf_counter()
        fit = minimize(function, start, args=(x, labels), jac=jac, method="BFGS")
        seconds = time.perf_counter() - begin
        once = function if jac else forward_differences
        gradient_time = shortest(once, start, x, labels) * 1e3
        right = (loss_numpy.scores(fit.x, x_new) > 0) == (labels_new > 0)
        print(
            f"{name:20}{fit.fun:10.6f}{right.mean():10.3f}{fit.nit:12}{seconds:10.2f}"
            f"{gradient_time:20.2f}"
        )
        found[name] = fit.x

    print(f"\nthe loss alone: {shortest(loss_numpy.loss, start, x, labels) * 1e3:.2f} ms")
    print("largest difference between npgrad's gradient and central differences:")
    worst = 0.0
    for where, weights in (("start", start), ("solution", found["npgrad"])):
        _, gradient = npgrad.value_and_grad(loss_numpy.loss)(weights, x, labels)
        difference = np.max(np.abs(gradient - central_differences(plain, weights)))
        worst = max(worst, difference)
        print(
            f"  at the {where:10}{difference:.1e}  (largest entry {np.max(np.abs(gradient)):.1e})"
        )
    if not worst < ALLOWED:
        sys.exit(f"the gradient is off by {worst:.1e}, more than {ALLOWED:.0e}")


if __name__ == "__main__":
    main()
