"""Plain arrays that the caller passes in and the function writes into record, and are filled."""

import contextvars
import weakref

import numpy as np
import pytest

import npgrad

X = np.array([0.3, 1.7])


def by_item(x, buffer):
    buffer[0] = x[0] * x[1]
    buffer[1] += x[1]
    return np.sum(buffer**2)


def by_name(x, *, buffer):
    buffer[:] = np.sin(x)
    return buffer @ buffer


def by_out(x, buffer):
    np.multiply(x, x, out=buffer)
    return np.sum(buffer)


def augmented(x, buffer):
    buffer += x
    buffer *= x
    return np.sum(buffer)


class Model:
    def step(self, x, buffer=None):
        buffer[0, :][1] = x[0]
        buffer[1][:] = x
        return np.sum(buffer**2)


CASES = [
    (by_item, lambda: {"buffer": np.array([1.0, 2.0])}),
    (by_name, lambda: {"buffer": np.empty(2)}),
    (by_out, lambda: {"buffer": np.empty(2)}),
    (augmented, lambda: {"buffer": np.array([1.0, 2.0])}),
    (Model().step, lambda: {"buffer": np.ones((2, 2))}),
]


@pytest.mark.parametrize(("f", "made"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_a_buffer_of_the_callers(f, made) -> None:
    expected = [(f(X + e, **made()) - f(X - e, **made())) / 2e-6 for e in np.eye(2) * 1e-6]
    given, plain = made(), made()
    buffer = given["buffer"]
    np.testing.assert_allclose(npgrad.grad(f)(X, **given), expected, rtol=1e-7)
    f(X, **plain)
    assert type(buffer) is np.ndarray
    np.testing.assert_array_equal(buffer, plain["buffer"])
    if f is not by_name:
        np.testing.assert_allclose(npgrad.grad(f)(X, made()["buffer"]), expected, rtol=1e-7)


def test_a_buffer_is_filled_as_far_as_the_program_came() -> None:
    def f(x, buffer):
        buffer[0] = x[0]
        raise RuntimeError("half way")

    buffer = np.zeros(2)
    with pytest.raises(RuntimeError):
        npgrad.grad(f)(X, buffer)
    np.testing.assert_array_equal(buffer, [0.3, 0.0])


def test_what_is_only_read_stays_plain() -> None:
    def f(x, table):
        assert type(table) is kind
        return np.sum(x * table)

    kind = np.ndarray
    np.testing.assert_array_equal(npgrad.grad(f)(X, np.ones(2)), np.ones(2))


TABLE = np.zeros(2)


def test_a_global_array_written_to_is_refused() -> None:
    def f(x):
        TABLE[0] = x[0]
        return np.sum(TABLE)

    with pytest.raises((npgrad.errors.GradientLost, ValueError)) as caught:
        npgrad.grad(f)(X)
    assert "npgrad.value(x)" in f"{caught.value} {caught.value.__cause__}"
    assert not TABLE.any()


# --------------------------------------------------------------- other names of the same memory
def adds(x, a, b):
    a += x
    return np.sum(b**2)


def test_an_array_given_twice_is_one() -> None:
    """Sum (1 + x)**2 of x = 1, 2, 3: 4 + 9 + 16, and the gradient 2 (1 + x)."""
    x = np.array([1.0, 2.0, 3.0])
    for given in (lambda f, s: f(x, s, s), lambda f, s: f(x, s, b=s), lambda f, s: f(x, b=s, a=s)):
        s = np.ones(3)
        value, gradient = given(npgrad.value_and_grad(adds), s)
        assert value == 29.0
        np.testing.assert_array_equal(gradient, [4.0, 6.0, 8.0])
        np.testing.assert_array_equal(s, [2.0, 3.0, 4.0])


def refused(f, *args) -> None:
    before = [np.copy(a) for a in args if type(a) is np.ndarray]
    with pytest.raises(npgrad.errors.InPlaceError):
        npgrad.value_and_grad(f)(*args)
    for array, kept in zip([a for a in args if type(a) is np.ndarray], before, strict=True):
        np.testing.assert_array_equal(array, kept)


class Holder:
    def __init__(self, kept) -> None:
        self.kept = kept

    def read(self):
        return self.kept


def test_memory_known_by_another_name_is_refused() -> None:
    x = np.array([1.0, 2.0, 3.0])

    def through(read):
        def f(x, a, b):
            a += x
            return np.sum(read(b) ** 2)

        return f

    s = np.ones(3)
    refused(through(lambda b: b["s"]), x, s, {"s": s})
    refused(through(lambda b: b[0][0]), x, s, [(s,)])
    refused(through(lambda b: b.kept), x, s, Holder(s))
    refused(through(lambda b: b()), x, s, Holder(s).read)
    refused(through(lambda b: b[0][0]), x, s, [np.array([s, None], dtype=object)])
    refused(through(lambda b: s), x, s, None)
    base = np.ones(4)
    refused(adds, x, base[:3], base[1:])
    refused(adds, x, base[:3], {"all": base})
    holder = Holder(np.ones(3))  # the attribute is the only reference
    refused(through(lambda b: holder.kept), x, holder.kept, None)
    known_weakly = weakref.ref(holder)
    refused(through(lambda b: known_weakly().kept), x, holder.kept, None)
    table = weakref.WeakValueDictionary(held=holder)
    refused(through(lambda b: b["held"].kept), x, holder.kept, table)
    in_context = contextvars.ContextVar("in_context")
    in_context.set(s)
    refused(through(lambda b: in_context.get()), x, s, None)


def helper_reads_a_global():
    return np.sum(SHARED**2)


def writes_beside_a_global(x, a):
    a += x
    return helper_reads_a_global()


SHARED = np.ones(2)


def test_a_global_that_a_helper_reads_is_refused() -> None:
    refused(writes_beside_a_global, X, SHARED)


def test_a_differentiated_argument_known_by_another_name_is_refused() -> None:
    def f(x, a):
        x += 1
        return np.sum(a * x)

    z = np.array([1.0, 2.0, 3.0])
    refused(f, z, z)
    refused(adds_to_first, z, {"z": z})
    np.testing.assert_array_equal(npgrad.grad(f)(z, z.copy()), z)  # d/dx a (x + 1) = a
    with pytest.raises(npgrad.errors.InPlaceError, match="another name"):
        npgrad.grad(f, argnums=(0, 1))(z, z)

    def closed(x):
        x *= 2
        return np.sum(x * z)

    refused(closed, z)
    np.testing.assert_array_equal(npgrad.grad(closed)(z.copy()), 2 * z)

    def constant(x, a):
        a[0] = 5.0
        return np.sum(x**2)

    refused(constant, z, z)


def adds_to_first(x, a):
    x += 1
    return np.sum(a["z"] * x)


def test_parts_of_one_array_that_do_not_overlap_record() -> None:
    """Sum of b**2 does not depend on x; sum of (a + x)**2 does: 2 (a + x)."""

    def f(x, a, b):
        a += x
        b *= 2
        return np.sum(a**2) + np.sum(b)

    base = np.ones((3, 2))
    other = base[:, 0]  # more names of the caller's do no harm
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(npgrad.grad(f)(x, other, base[:, 1]), [4.0, 6.0, 8.0])
    np.testing.assert_array_equal(base, [[2.0, 2.0], [3.0, 2.0], [4.0, 2.0]])


# --------------------------------------------------------------------- how a buffer is written to
def fills(x, b):
    b.fill(x[0])
    return np.sum(b * x[1])


def by_view(x, b):
    v = b[1:]
    v[0] = x[0]
    return np.sum(b**2) + x[1]


def by_rows(x, b):
    for i, row in enumerate(b):
        row[:] = x * i + x
    return np.sum(b**2)


def by_chain(x, b):
    c = b.reshape(2, -1)
    d = c.T
    d[0] = x
    return np.sum(b**2)


def by_copyto(x, b):
    np.copyto(b, x)
    return np.sum(b**2)


def by_part_as_out(x, b):
    np.multiply(x, x, out=b[:2], where=b[:2] > 0)
    return np.sum(b)


def by_at(x, b):
    np.add.at(b, [0, 0], x)
    return np.sum(b**2)


def by_flat(x, b):
    b.flat = x
    return np.sum(b**3)


def first_of(b, x):
    b[0] = x[0] * x[1]


def by_helper(x, b):
    first_of(b, x)
    return np.sum(b) ** 2


def by_helper_named(x, b):
    first_of(x=x, b=b)
    return np.sum(b) ** 2


def by_two_helpers(x, b):
    by_helper(x, b)
    return np.sum(b) ** 2


def of_many(x, *bufs):
    for b in bufs:
        b[:] = x * x
    return sum(np.sum(b) for b in bufs)


def first_of_many(x, *bufs):
    bufs[0][:] = x
    bufs[1][0] = x[1]
    return np.sum(bufs[0]) * np.sum(bufs[1])


def of_keywords(x, **k):
    k["b"][0] = x[0]
    return np.sum(k["b"]) * x[1]


def after_the_rest(x, *rest, b):
    b[0] = x[0]
    return np.sum(b) * len(rest)


def of_list(x, bufs):
    for b in bufs:
        b[:] = x
    return np.sum(bufs[0] * bufs[1])


def of_pair(x, pair):
    a, b = pair
    a[:] = x
    b[0] = x[0]
    return np.sum(a**2) + np.sum(b)


def of_table(x, table):
    table["b"][:] = x
    table["n"] = 3
    return np.sum(table["b"] ** 2)


def copies(x, b):
    q = b.copy()
    q[0] = x[0]
    return np.sum(q**2)


class Filler:
    def _first(self, x, b):
        b[0] = x[1]

    def go(self, x, b):
        self._first(x, b)
        return np.sum(b**2)


def ones(*shape):
    return lambda: ([np.ones(shape)], {})


WAYS = [
    (fills, ones(3)),
    (by_view, ones(3)),
    (by_rows, ones(3, 2)),
    (by_chain, ones(4)),
    (by_copyto, ones(2)),
    (by_part_as_out, ones(3)),
    (by_at, ones(2)),
    (by_flat, ones(2)),
    (by_helper, ones(2)),
    (by_helper_named, ones(2)),
    (by_two_helpers, ones(2)),
    (of_many, lambda: ([np.ones(2), np.ones(2)], {})),
    (first_of_many, lambda: ([np.ones(2), np.ones(2)], {})),
    (of_keywords, lambda: ([], {"b": np.ones(2)})),
    (after_the_rest, lambda: ([1.0, 2.0], {"b": np.ones(2)})),
    (of_list, lambda: ([[np.ones(2), np.ones(2)]], {})),
    (of_pair, lambda: ([(np.ones(2), np.ones(2))], {})),
    (of_table, lambda: ([{"b": np.ones(2)}], {})),
    (copies, ones(2)),
    (Filler().go, ones(2)),
]


@pytest.mark.parametrize(("f", "made"), WAYS, ids=lambda case: getattr(case, "__name__", ""))
def test_every_way_of_writing(f, made) -> None:
    def at(x):
        args, kwargs = made()
        return f(x, *args, **kwargs)

    expected = [(at(X + e) - at(X - e)) / 2e-6 for e in np.eye(2) * 1e-6]
    args, kwargs = made()
    held = [*args, *kwargs.values()]
    entries = [list(v.values() if isinstance(v, dict) else v) for v in held if np.ndim(v) != 0]
    np.testing.assert_allclose(npgrad.grad(f)(X, *args, **kwargs), expected, rtol=1e-6)
    plain_args, plain_kwargs = made()
    f(X, *plain_args, **plain_kwargs)
    assert repr((args, kwargs)) == repr((plain_args, plain_kwargs))
    for value, before in zip([v for v in held if isinstance(v, list)], entries, strict=False):
        assert all(now is then for now, then in zip(value, before, strict=True))


def test_a_buffer_that_is_a_default() -> None:
    def f(x, b=np.zeros(2), *, c=np.zeros(2)):  # noqa: B008 -- one array for all calls
        b[:] = x * x
        c[0] += x[1]
        return np.sum(b) + c[0]

    np.testing.assert_allclose(npgrad.grad(f)(X), 2 * X + [0, 1])
    assert type(f.__defaults__[0]) is np.ndarray
    np.testing.assert_array_equal(f.__defaults__[0], X * X)
    np.testing.assert_array_equal(f.__kwdefaults__["c"], [X[1], 0])


def test_a_list_that_the_function_changes_is_changed() -> None:
    def f(x, bufs):
        bufs[0][:] = x
        bufs.append(bufs[0])
        return np.sum(bufs[1] ** 2)

    first = np.zeros(2)
    bufs = [first]
    np.testing.assert_allclose(npgrad.grad(f)(X, bufs), 2 * X)
    assert len(bufs) == 2 and bufs[0] is first and bufs[1] is first
    np.testing.assert_array_equal(first, X)


def test_what_a_helper_only_reads_stays_plain() -> None:
    def f(x, table, b):
        first_of(b, x * table)
        assert type(table) is kind
        return np.sum(b)

    kind = np.ndarray
    np.testing.assert_allclose(npgrad.grad(f)(X, np.ones(2), np.zeros(2)), X[::-1])


def test_a_list_of_an_array_known_by_another_name_is_refused() -> None:
    s = np.ones(2)
    with pytest.raises((npgrad.errors.GradientLost, npgrad.errors.InPlaceError)):
        npgrad.grad(lambda x, bufs: of_list(x, bufs) + np.sum(s))(X, [s, np.ones(2)])
    np.testing.assert_array_equal(s, np.ones(2))


# ------------------------------------------------------- buffers that stand in a method's object
class Workspace:
    """Its buffers were made when it was."""

    def __init__(self):
        self.b, self.d, self.other = np.zeros(2), np.zeros(2), None

    def by_items(self, x):
        self.b[:] = x
        for i in range(x.size):
            self.b[i] = np.sin(self.b[i])
        return np.sum(self.b)

    def by_local_name(self, x):
        b = self.b
        b[0] = x[1] ** 2
        b[1:] += x[0]
        return np.sum(b * b)

    def _fill(self, x):
        self.d[:] = x * x

    def by_method(self, x):
        self._fill(x)
        return np.sum(self.d) * self.d[0]

    def by_helper(self, x):
        first_of(self.d, x)
        return np.sum(self.d) ** 2

    def known_elsewhere(self, x):
        self.b[:] = x
        return np.sum(self.other)

    def sets_anew(self, x):
        self.b[:] = x
        self.b = self.b * x
        return np.sum(self.b)


@pytest.mark.parametrize("name", ["by_items", "by_local_name", "by_method", "by_helper"])
def test_a_buffer_of_the_object(name) -> None:
    def at(x):
        return getattr(Workspace(), name)(x)

    expected = [(at(X + e) - at(X - e)) / 2e-6 for e in np.eye(2) * 1e-6]
    for before in (False, True):  # a workspace that a plain call has used is one as well
        work, plain = Workspace(), Workspace()
        if before and name != "by_local_name":  # which adds to what is there
            getattr(work, name)(X + 1)
        held = [work.b, work.d]
        np.testing.assert_allclose(npgrad.grad(getattr(work, name))(X), expected, rtol=1e-6)
        getattr(plain, name)(X)
        assert work.b is held[0] and work.d is held[1]
        np.testing.assert_array_equal(work.b, plain.b)
        np.testing.assert_array_equal(work.d, plain.d)


def test_a_buffer_of_the_object_that_is_known_elsewhere() -> None:
    work = Workspace()
    work.other = work.b
    with pytest.raises((npgrad.errors.GradientLost, npgrad.errors.InPlaceError, ValueError)):
        npgrad.grad(work.known_elsewhere)(X)
    assert work.other is work.b and type(work.b) is np.ndarray


def test_a_buffer_that_the_method_sets_anew_stays_what_it_set() -> None:
    work = Workspace()
    first = work.b
    np.testing.assert_allclose(npgrad.grad(work.sets_anew)(X), 2 * X)
    np.testing.assert_array_equal(np.asarray(work.b), X * X)
    np.testing.assert_array_equal(first, X)


def test_a_method_that_fails_leaves_its_object_as_it_was() -> None:
    class Failing(Workspace):
        def half(self, x):
            self.b[0] = x[0]
            raise RuntimeError("half way")

    work = Failing()
    held = work.b
    with pytest.raises(RuntimeError):
        npgrad.grad(work.half)(X)
    assert work.b is held
    np.testing.assert_array_equal(held, [X[0], 0])
