"""Tables keyed by NumPy's functions, and types that attributes, tables and defaults hold."""

import math
import pickle

import numpy as np
import pytest

import npgrad

RULES = {np.sum: 2.0, np.linalg.norm: 3.0, np.dot: 5.0, np.array: 7.0, math.exp: 11.0}
OPS = [np.sum, np.mean, np.exp]
KNOWN = {np.sum, (np.median, "a")}
TYPES = {"f8": np.float64, "array": np.ndarray}
X = np.array([0.4, 1.3, 0.8])


class Kinds:
    array = np.ndarray
    number = np.float64
    convert = float
    total = np.sum


class Holder:
    def __init__(self):
        self.kind = np.ndarray


HOLDER = Holder()


def by_default(x, f=np.sum):
    return x[0] * RULES.get(f, 0.0)


def by_name(x):
    return x[0] * (RULES[np.sum] + RULES[np.linalg.norm] + RULES[np.array] + RULES[math.exp])


def in_a_list(x):
    return x[0] * (OPS.index(np.mean) + 2.0 * (OPS[0] == np.sum) + 4.0 * (np.mean != OPS[1]))


def in_a_set(x):
    return x[0] * (1.0 * (np.sum in KNOWN) + 2.0 * ((np.median, "a") in KNOWN))


def filled(x, cache={(np.sum, "a"): 1.0}):  # noqa: B006
    cache.setdefault((np.sum, "a"), 1.0)
    return x[0] * len(cache)


def pickled(x):
    return x[0] * (2.0 if pickle.loads(pickle.dumps(np.sum)) == np.sum else 1.0)


def type_of_default(x, kind=np.ndarray):
    return x[0] * (2.0 if type(x) is kind else 1.0) * (3.0 if kind is np.ndarray else 1.0)


def type_of_class(x):
    return (
        x[0]
        * (2.0 if type(x) is Kinds.array else 1.0)
        * (3.0 if Kinds.array is np.ndarray else 1.0)
        * (5.0 if type(x[0]) is Kinds.number else 1.0)
        * (7.0 if Kinds.total is np.sum else 1.0)
    )


def type_of_table(x):
    return (
        x[0]
        * (2.0 if type(x) is TYPES["array"] else 1.0)
        * (3.0 if x.dtype.type is TYPES["f8"] else 1.0)
    )


def type_of_object(x):
    return x[0] * (2.0 if type(x) is HOLDER.kind else 1.0)


FACTORS = {
    by_default: 2, by_name: 23, in_a_list: 3, in_a_set: 3, filled: 1, pickled: 2,
    type_of_default: 6, type_of_class: 210, type_of_table: 6, type_of_object: 2,
}  # fmt: skip


@pytest.mark.parametrize("f", FACTORS, ids=lambda f: f.__name__)
def test_the_same_branch_is_taken(f):
    x = np.array([0.5, 1.3, 0.8])  # whose multiples are exact
    assert f(x) == 0.5 * FACTORS[f]
    value, gradient = npgrad.value_and_grad(f)(x)
    assert value == 0.5 * FACTORS[f]
    np.testing.assert_array_equal(gradient, [FACTORS[f], 0, 0])
    assert f(x) == 0.5 * FACTORS[f]


def test_what_no_question_names_records_still():
    # `convert` stands beside no `is`
    np.testing.assert_array_equal(npgrad.grad(lambda x: Kinds.convert(x[0]) * 3.0)(X), [3, 0, 0])
    f = npgrad.grad(lambda x: Kinds.total([x[0], 2 * x[1]]))
    np.testing.assert_array_equal(f(X), [1, 2, 0])
    f = npgrad.grad(lambda x: sum(RULES[key] * key([x[0], x[1]]) for key in [np.sum]))
    np.testing.assert_array_equal(f(X), [2, 2, 0])
    assert next(iter(RULES)) is np.sum
    assert Kinds.array is np.ndarray and TYPES["f8"] is np.float64
