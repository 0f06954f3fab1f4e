"""``build(check_bounds=True)``: the first subscript out of range is an error, on every target."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import AlloError, BoundsError, OptionError, UnsupportedOpError
from allo.ir.types import Int, Stream, int8, int16, int32, uint8

from .checked import TARGETS, Checked, in_python, on_target

FAST = ["cpu", "csim", "jit"]


def scatter(x: int32[8], k: uint8[8], y: int32[8]):
    for i in range(8):
        y[k[i]] = x[i] + 1  # fails


def gather(x: int32[8], k: int8[8], y: int32[8]):
    for i in range(8):
        y[i] = x[k[i]] * 2  # fails


def shifted(x: int32[10], n: int32, y: int32[10]):
    for i in range(10):
        y[i] = x[i]
    for i in range(10):
        y[i + n] = x[9 - i]  # fails


def two_dimensions(x: int16[4, 6], r: int32, c: int32):
    for i in range(4):
        for j in range(6):
            x[i, j] += 1
    for i in range(4):
        for j in range(6):
            x[i + r, j + c] = x[i, j] + 9  # fails


def element(a: int32[8], i: int32) -> int32:
    return a[i]  # fails


def in_a_function(x: int32[8], n: int32, y: int32[8]):
    for i in range(8):
        y[i] = element(x, i + n)


def in_a_while(x: int32[8], n: int32, y: int32[1]):
    i: int32 = 0
    while x[i] != n:  # fails
        i += 1
        y[0] = i


def in_a_branch(x: int32[8], n: int32, y: int32[8]):
    for i in range(8):
        if x[i] > 4:
            y[x[i] + n] = i  # fails
        else:
            y[i] = -i


def twice(row: int32[6], c: int32, out: int32[8]):
    out[c] = row[c]  # fails


def a_row(x: int32[4, 6], r: int32, out: int32[8]):
    twice(x[r], 3, out)
    twice(x[1], r, out)


def vectors(kernel):
    """Arguments that are in range, and some that are not."""
    rng = np.random.default_rng(len(kernel.__name__))
    x = rng.integers(0, 8, 8).astype(np.int32)
    y = np.zeros(8, np.int32)
    match kernel.__name__:
        case "scatter" | "gather":
            ok = rng.permutation(8)
            bad = ok.copy()
            bad[5] = 8
            far = ok.copy()
            far[2], far[4] = 100, 120
            kind = np.uint8 if kernel is scatter else np.int8
            sets = [ok, bad, far]
            if kernel is gather:
                sets.append(np.where(ok == 3, -1, ok))
            return [(x, k.astype(kind), y) for k in sets]
        case "shifted":
            z = np.arange(10, dtype=np.int32)
            return [(z, n, np.zeros(10, np.int32)) for n in (0, 1, 9, -1, 10**6)]
        case "two_dimensions":
            z = np.arange(24, dtype=np.int16).reshape(4, 6)
            return [(z, r, c) for r, c in ((0, 0), (1, 0), (0, 1), (-1, -1), (0, 6), (4, 9))]
        case "in_a_while":
            z = np.array([3, 1, 4, 1, 5, 9, 2, 6], np.int32)
            return [(z, n, np.zeros(1, np.int32)) for n in (3, 9, 6, 7)]
        case "in_a_branch":
            return [(x, n, y) for n in (-5, 0, 1, 3)]
        case "a_row":
            z = np.arange(24, dtype=np.int32).reshape(4, 6)
            return [(z, r, y) for r in (0, 3, 4, -1)]
    return [(x, n, y) for n in (0, 1, 5, -2)]


KERNELS = [
    scatter,
    gather,
    shifted,
    two_dimensions,
    in_a_function,
    in_a_while,
    in_a_branch,
]


def failing_line(kernel) -> int:
    """The line of the kernel, or of what it calls, that is marked."""
    called = {"in_a_function": element, "a_row": twice}.get(kernel.__name__, kernel)
    lines, first = inspect.getsourcelines(called)
    return first + next(n for n, line in enumerate(lines) if "# fails" in line)


def python_failure(kernel, args):
    """The subscript that fails in plain Python, or None, and the arrays it leaves."""
    given = [Checked(a) if isinstance(a, np.ndarray) else a for a in args]
    try:
        kernel(*given)
    except IndexError as error:
        return tuple(error.args[0]), [g.values for g in given if isinstance(g, Checked)]
    return None, [g.values for g in given if isinstance(g, Checked)]


def check(kernel, module, args):
    """A call agrees with Python: arrays, and the subscript, array and line of a failure."""
    index, want = python_failure(kernel, args)
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    if index is None:
        module(*given)
    else:
        with pytest.raises(BoundsError) as caught:
            module(*given)
        error = caught.value
        assert error.index == index
        assert error.place is not None and error.place.line == failing_line(kernel)
        assert f"[{', '.join(map(str, index))}] of an array of shape" in str(error)
        assert "# fails" in str(error) and "^" in str(error)
    got = [g for g in given if isinstance(g, np.ndarray)]
    for mine, right in zip(got, want, strict=True):
        np.testing.assert_array_equal(mine, right)
    return index is not None


@pytest.mark.parametrize("target", FAST)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_the_first_subscript_out_of_range_ends_the_run(kernel, target):
    module = allo.customize(kernel).build(check_bounds=True, **TARGETS[target])
    failed = [check(kernel, module, args) for args in vectors(kernel)]
    assert any(failed) and not all(failed)


@pytest.mark.parametrize("kernel", [scatter, in_a_while], ids=lambda k: k.__name__)
def test_verilator_finds_the_same(kernel):
    module = allo.customize(kernel).build(check_bounds=True, target="verilog")
    for args in vectors(kernel):
        check(kernel, module, args)


# --- schedules ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", FAST)
@pytest.mark.parametrize("kernel", [scatter, gather, in_a_function, in_a_branch])
def test_pipelined_loops_stop_at_the_same_element(kernel, target):
    s = allo.customize(kernel)
    s.pipeline("i")
    module = s.build(check_bounds=True, **TARGETS[target])
    failed = [check(kernel, module, args) for args in vectors(kernel)]
    assert any(failed)


@pytest.mark.parametrize("target", FAST)
@pytest.mark.parametrize("factor", [0, 4])
def test_banked_arrays_are_checked_by_their_own_subscripts(factor, target):
    s = allo.customize(scatter)
    if factor:
        s.partition(s.y, partition_type=allo.Partition.Cyclic, dim=1, factor=factor)
        s.partition(s.x, partition_type=allo.Partition.Block, dim=1, factor=factor)
    else:
        s.partition(s.y)
    s.pipeline("i")
    module = s.build(check_bounds=True, **TARGETS[target])
    failed = [check(scatter, module, args) for args in vectors(scatter)]
    assert any(failed)


@pytest.mark.parametrize("target", FAST)
def test_unrolled_and_split_loops_are_checked(target):
    s = allo.customize(shifted)
    loops = s.get_loops()
    s.split(loops["S_i_0"]["i"], 5)
    s.unroll(loops["S_i_1"]["i"], 5)
    module = s.build(check_bounds=True, **TARGETS[target])
    for args in vectors(shifted):
        check(shifted, module, args)


# --- other arrays ------------------------------------------------------------------------------------


def a_callee(row: int32[8], out: int32[8], n: int32):
    for i in range(8):
        out[i] = 1
        for j in range(2):
            out[i] = out[i] + row[i + n + j]  # fails


def calls_a_callee(x: int32[8], n: int32, out: int32[8], y: int32[8]):
    a_callee(x, out, n)
    for i in range(8):
        y[i] = out[i] + 100


@pytest.mark.parametrize("target", FAST)
def test_a_failure_in_a_called_module_stops_the_caller(target):
    module = allo.customize(calls_a_callee).build(check_bounds=True, **TARGETS[target])
    x, y = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    with pytest.raises(BoundsError, match=r"row\[8\] of an array of shape \[8\]; dimension 0") as e:
        module(x, 5, np.zeros(8, np.int32), y)
    assert (e.value.array, e.value.index, e.value.shape) == ("row", (8,), (8,))
    assert not y.any()
    for i in range(3):  # and the module works again
        with pytest.raises(BoundsError):
            module(x, 1 + i, np.zeros(8, np.int32), y)


@pytest.mark.parametrize("target", FAST)
def test_a_local_array_is_checked(target):
    def scratch(x: int32[8], n: int32, y: int32[8]):
        for i in range(8):
            t: int32[8] = 0
            t[i + n] = x[i]
            y[i] = t[i] + t[7 - i]

    module = allo.customize(scratch).build(check_bounds=True, **TARGETS[target])
    x, y = np.arange(1, 9, dtype=np.int32), np.zeros(8, np.int32)
    module(x, 0, y)
    np.testing.assert_array_equal(y, x)
    y[:] = 0
    with pytest.raises(BoundsError, match=r"t\[8\] of an array of shape \[8\]"):
        module(x, 3, y)
    want = [0] * 8
    for i in range(5):
        t = [0] * 8
        t[i + 3] = int(x[i])
        want[i] = t[i] + t[7 - i]
    assert y.tolist() == want


@pytest.mark.parametrize("target", FAST)
def test_stateful_constant_and_wide_arrays_are_checked(target):
    table = np.array([1, 2, 3, 5], np.int32)

    def several(k: int32, m: int32, n: int32, w: Int(100)[3]) -> int32:
        kept: int32[4] @ allo.ir.types.Stateful = 0
        kept[k] += 1
        w[n] = table[m]
        return kept[k]

    module = allo.customize(several).build(check_bounds=True, **TARGETS[target])
    w = np.zeros(3, object)
    assert module(3, 2, 1, w) == 1
    assert w.tolist() == [0, 3, 0]
    for args, name, index in (((4, 0, 0), "kept", 4), ((0, 4, 0), "table", 4), ((0, 1, 3), "w", 3)):
        with pytest.raises(BoundsError) as caught:
            module(*args, w)
        assert (caught.value.array, caught.value.index) == (name, (index,))
        assert w.tolist() == [0, 3, 0]


@pytest.mark.parametrize("target", FAST)
def test_a_view_is_checked_where_it_is_made(target):
    def total(part: int32[4]) -> int32:
        r: int32 = 0
        for i in range(4):
            r += part[i]
        return r

    def windows(x: int32[10], k: int32) -> int32:
        return total(x[k : k + 4])

    module = allo.customize(windows).build(check_bounds=True, **TARGETS[target])
    x = np.arange(10, dtype=np.int32)
    assert module(x, 6) == 6 + 7 + 8 + 9
    for k, index in ((7, 10), (-1, -1), (10**9, 10**9 + 3)):
        with pytest.raises(BoundsError) as caught:
            module(x, k)
        assert caught.value.index == (index,)


def test_an_array_of_any_length_is_checked_on_the_cpu():
    def first(x: int32[...], n: int32) -> int32:
        r: int32 = 0
        for i in range(n):
            r += x[i]
        return r

    s = allo.customize(first)
    module = s.build(check_bounds=True)
    assert module(np.ones(5, np.int32), 5) == 5
    with pytest.raises(BoundsError, match=r"x\[7\] of an array of shape \[7\]"):
        module(np.ones(7, np.int32), 9)
    with pytest.raises(UnsupportedOpError, match=r"needs the length of an array.*any length"):
        s.build(target="vhls", check_bounds=True)


@pytest.mark.parametrize("target", ["simulator", "csim", "jit"])
def test_processes_of_a_region_are_checked(target):
    @df.region()
    def top(x: int32[8], k: uint8[8], y: int32[8]):
        pipe: Stream[int32, 4]

        @df.kernel(mapping=[1], args=[x])
        def produce(a: int32[8]):
            for i in range(8):
                pipe.put(a[i])

        @df.kernel(mapping=[1], args=[k, y])
        def consume(j: uint8[8], b: int32[8]):
            for i in range(8):
                b[j[i]] = pipe.get()

    options = {"target": "simulator"} if target == "simulator" else TARGETS[target]
    module = df.build(top, check_bounds=True, **options)
    x = np.arange(1, 9, dtype=np.int32)
    order = np.array([3, 1, 0, 2, 7, 5, 4, 6], np.uint8)
    y = np.zeros(8, np.int32)
    module(x, order, y)
    np.testing.assert_array_equal(y[order], x)
    y[:] = 0
    order[4] = 9
    with pytest.raises(BoundsError, match=r"b\[9\] of an array of shape \[8\]"):
        module(x, order, y)
    assert y.tolist() == [3, 2, 4, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("target", FAST)
def test_arrays_that_became_fifos_are_checked(target):
    def two_steps(x: int32[8], k: uint8[8], y: int32[8]):
        t: int32[8] = 0
        for i in range(8):
            t[i] = x[i] * 3
        for j in range(8):
            y[k[j]] = t[j]

    s = allo.customize(two_steps)
    s.to(s.t, "S_j_1")
    module = s.build(check_bounds=True, **TARGETS[target])
    x, y = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    k = np.array([0, 1, 2, 8, 4, 5, 6, 7], np.uint8)
    with pytest.raises(BoundsError, match=r"y\[8\]"):
        module(x, k, y)
    assert y.tolist() == [0, 3, 6, 0, 0, 0, 0, 0]


# --- the edges -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", FAST)
def test_memory_outside_the_arrays_is_never_touched(target):
    module = allo.customize(shifted).build(check_bounds=True, **TARGETS[target])
    block = np.full(64, 77, np.int32)
    y = block[20:30]
    for n in (1, 5, -3, 40, -20, 2**31 - 1, -(2**31)):
        y[:] = 0
        with pytest.raises(BoundsError):
            module(np.arange(10, dtype=np.int32), n, y)
        assert (block[:20] == 77).all() and (block[30:] == 77).all()


@pytest.mark.parametrize("target", FAST)
def test_a_loop_that_only_the_failure_ends_is_ended(target):
    def search(x: int32[4]) -> int32:
        i: int32 = 0
        n: int32 = 0
        while x[i] != 7 or n < 0:
            i += 1
        return i

    module = allo.customize(search).build(check_bounds=True, **TARGETS[target])
    assert module(np.array([1, 2, 7, 3], np.int32)) == 2
    with pytest.raises(BoundsError, match=r"x\[4\] of an array of shape \[4\]"):
        module(np.zeros(4, np.int32))


def test_the_message_is_whole():
    module = allo.customize(two_dimensions).build(check_bounds=True)
    with pytest.raises(BoundsError) as caught:
        module(np.zeros((4, 6), np.int16), 4, -2)
    text = str(caught.value).splitlines()
    assert text[0].endswith(
        "Index out of range: x[4, -2] of an array of shape [4, 6]; dimension 0 takes 0 to 3 and "
        "dimension 1 takes 0 to 5."
    )
    assert text[1].split("|")[1].strip() == "x[i + r, j + c] = x[i, j] + 9  # fails"
    assert text[-1] == "help: guard the access with an if, or make the array larger."
    assert isinstance(caught.value, AlloError) and isinstance(caught.value, IndexError)


def guarded(x: int32[8], k: int8[8], y: int32[8]):
    for i in range(8):
        y[i] = x[k[i]] if 0 <= k[i] < 8 else -1
        if i > 0:
            y[i] += x[i - 1]


@pytest.mark.parametrize("target", FAST)
def test_what_is_guarded_does_not_fail(target):
    module = allo.customize(guarded).build(check_bounds=True, **TARGETS[target])
    x, k = np.arange(8, dtype=np.int32), np.array([1, -1, 8, 7, 100, 0, -128, 3], np.int8)
    arrays = x, k, np.zeros(8, np.int32)
    got, want = on_target(module, *arrays)[1], in_python(guarded, *arrays)[1]
    for mine, right in zip(got, want, strict=True):
        np.testing.assert_array_equal(mine, right)


def surely_inside(x: int32[8], y: int32[8]):
    for i in range(8):
        for j in range(i, 8):
            y[j - i] += x[(3 * i + j) % 8]


def test_what_is_surely_inside_is_not_checked_and_costs_nothing():
    s = allo.customize(surely_inside)
    for target in ("vhls", "verilog"):
        plain, checked = s.build(target=target), s.build(target=target, check_bounds=True)
        assert str(plain) == str(checked)
    s = allo.customize(scatter)
    assert "bounds_fault" not in str(s.build(target="verilog"))
    assert "bounds_fault" in str(s.build(target="verilog", check_bounds=True))


def test_the_option_is_checked_like_any_other():
    with pytest.raises(OptionError, match="check_bounds"):
        allo.customize(scatter).build(check_bounds="yes")
    with pytest.raises(OptionError, match="check_bounds"):
        allo.customize(scatter).build(target="xls", check_bounds=True)
