"""``functools.lru_cache`` and ``functools.cache`` in wrapped code: no gradient is kept or lost."""

import functools
import threading

import numpy as np

import npgrad

X = np.array([1.5, 0.5, 1.5])


class Model:
    def __init__(self, x=None):
        self.x = x

    @functools.lru_cache  # noqa: B019
    def power(self, i):
        return self.x[i] ** 2

    @classmethod
    @functools.cache
    def cube(cls, v):
        return v * v * v

    @staticmethod
    @functools.cache
    def square(v):
        return v * v


def test_methods():
    f = lambda x: Model(x).power(1) + Model.cube(x[0]) + Model(x).cube(x[2]) + Model.square(x[1])
    np.testing.assert_allclose(npgrad.grad(f)(X), [3 * 1.5**2, 2 * 0.5 + 2 * 0.5, 3 * 1.5**2])
    still = Model(X)
    np.testing.assert_allclose(npgrad.grad(lambda x: x[0] * still.power(2))(X), [2.25, 0, 0])
    assert still.power(2) == 2.25 and type(still.power(2)) is np.float64
    assert type(vars(Model)["power"]) is functools._lru_cache_wrapper


KEPT = Model()
NOW = {}
CALLS = []


@functools.cache
def of_globals(i):
    CALLS.append(i)
    return NOW["x"][i] ** 2


def test_results_recorded_by_another_way_hold_for_their_call():
    def f(x):
        KEPT.x = NOW["x"] = x
        return x[0] * KEPT.power(1) + of_globals(2) * of_globals(2)

    expected = [0.25, 2 * 1.5 * 0.5, 4 * 1.5**3]
    for _ in range(3):
        CALLS.clear()
        np.testing.assert_allclose(npgrad.grad(f)(X), expected)
        assert CALLS.count(2) == 1 or _ == 0  # the first time shows that the results are recorded
    NOW["x"] = X
    assert type(of_globals(2)) is np.float64
    hessian = npgrad.hessian(f)(X)
    np.testing.assert_allclose(hessian[0], [0, 2 * 0.5, 0])
    np.testing.assert_allclose(hessian[2], [0, 0, 12 * 1.5**2])


LOCAL = threading.local()


@functools.cache
def of_thread(i):
    return LOCAL.x[i] * 3.0


def test_a_cache_in_threads():
    """Each thread has a recording of its own of the same numbers."""

    def f(x):
        LOCAL.x = x
        return of_thread(0) * of_thread(1)

    gradient, results = npgrad.grad(f), {}
    gradient(X)

    def work(i):
        results[i] = all(np.allclose(gradient(X), [4.5, 13.5, 0.0]) for _ in range(20))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == dict.fromkeys(range(4), True)


def test_caches_made_in_the_call():
    def f(x):
        @functools.lru_cache(None)
        def basis(i, t):  # as of splines
            return t if i == 0 else t * basis(i - 1, t)

        @functools.cache
        def fibonacci(n):
            return x[0] * n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

        return basis(3, x[1]) + fibonacci(60)

    np.testing.assert_allclose(npgrad.grad(f)(X), [1548008755920.0, 4 * 0.5**3, 0.0])
