"""fuse, reshape, compute_at, reuse_at, get_equivalent_variables: golden IR, equal answers, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from allo.dialects._mlir import ir
from allo.errors import IllegalTransformError, ScheduleError, UnknownHandleError
from allo.schedule import MockBuffer, Schedule
from tests.interpreter import copied, run_module
from tests.schedule.support import DATA, check_golden, count, kernel, loops, refused, text


def random_arguments(s: Schedule, seed: int = 0) -> list:
    rng = np.random.default_rng(seed)
    kind = ir.FunctionType(ir.TypeAttr(s.top_func.attributes["function_type"]).value)
    made = []
    for t in kind.inputs:
        shape = list(ir.MemRefType(t).shape)
        if isinstance(ir.MemRefType(t).element_type, ir.F32Type):
            made.append(rng.standard_normal(shape).astype(np.float32))
        else:
            values = rng.integers(-100, 100, shape)
            made.append(np.array(values.tolist(), dtype=object).reshape(shape))
    return made


def assert_same(s: Schedule, original: Schedule) -> None:
    """Every element of every argument and result, bit for bit."""
    assert s.module.operation.verify()
    first = random_arguments(original)
    second = copied(first)
    r1 = run_module(original.module, original.top_func_name, first)
    r2 = run_module(s.module, s.top_func_name, second)
    for a, b in zip([*first, *r1], [*second, *r2], strict=True):
        np.testing.assert_array_equal(a, b)


def test_fuse_two_and_three():
    s = kernel("stencil")
    band = s.get_loops().S_i_j_0
    made = s.fuse(band.i, band.j)
    assert made.name == "stencil:S_i_j_0.i_j_fused"
    s.pipeline(made)
    check_golden(s, "fuse")
    assert_same(s, kernel("stencil"))
    g = kernel("gemm")
    g.fuse("i", "j", "k")
    assert loops(g) == ["i_j_k_fused"]


@pytest.mark.parametrize(
    ("axes", "pattern"),
    [
        (("i",), "fuse needs at least two loops, got 1"),
        (("j", "i"), "not consecutive loops of one perfect nest"),
        (("i", "k"), "not consecutive loops of one perfect nest"),
    ],
)
def test_fuse_refuses(axes, pattern):
    s = kernel("gemm")
    refused(s, ScheduleError, pattern, lambda: s.fuse(*axes))


def test_reshape_of_an_argument_and_a_local():
    s = kernel("stencil")
    s.reshape(s.A, (2, 4, 8))
    assert "memref<2x4x8xi32>" in text(s)
    check_golden(s, "reshape")
    original = kernel("stencil")
    given = random_arguments(original)
    reshaped = copied(given)
    reshaped[0] = reshaped[0].reshape(2, 4, 8)
    run_module(original.module, "stencil", given)
    run_module(s.module, "stencil", reshaped)
    np.testing.assert_array_equal(given[0], reshaped[0].reshape(8, 8))
    np.testing.assert_array_equal(given[2], reshaped[2])


def test_reshape_refuses():
    s = kernel("stencil")
    refused(
        s,
        ScheduleError,
        r"reshape A: \(3, 8\) has 24 elements, the array has 64\.\nhelp: its shape is \(8, 8\)",
        lambda: s.reshape(s.A, (3, 8)),
    )
    s.partition(s.x)
    refused(s, ScheduleError, "the array is already partitioned", lambda: s.reshape(s.x, (2, 4)))


def test_compute_at_shrinks_the_intermediate():
    s = kernel("producer")
    bands = s.get_loops()
    s.compute_at(bands.B.j, bands.C.j)
    assert [n for n, _ in s.get_loops()] == ["C", "D"]
    check_golden(s, "compute_at")
    assert_same(s, kernel("producer"))


def test_compute_at_an_outer_loop_keeps_a_row():
    s = kernel("producer")
    bands = s.get_loops()
    s.compute_at(bands.C.i, bands.D.i)
    assert_same(s, kernel("producer"))
    assert "memref<9xi32>" in text(s)


def test_compute_at_refuses_a_consumer_that_reads_ahead():
    s = kernel("producer")
    bands = s.get_loops()
    refused(
        s,
        IllegalTransformError,
        r"Cannot compute C at loop j of D: it breaks a read after write dependence on C",
        lambda: s.compute_at(bands.C.j, bands.D.j),
    )
    refused(
        s,
        ScheduleError,
        "both loops are of one nest",
        lambda: s.compute_at(bands.C.i, bands.C.j),
    )
    refused(
        s,
        ScheduleError,
        "does not stand before the consumer's",
        lambda: s.compute_at(bands.D.j, bands.C.j),
    )


def test_reuse_at_line_and_window_buffer():
    s = kernel("blur")
    line = s.reuse_at(s.A, "y")
    window = s.reuse_at(line, "x")
    assert (line, window) == (
        MockBuffer("blur", "S_y_x_reuse_0"),
        MockBuffer("blur", "S_y_x_reuse_1"),
    )
    s.partition(line, dim=1)
    s.partition(window)
    s.pipeline("x")
    check_golden(s, "reuse_at")
    assert_same(s, kernel("blur"))


@pytest.mark.parametrize(
    ("name", "axis", "pattern"),
    [
        ("A", "r", "reuse_at: Reuse buffer not found for A at loop r: no element is read by two"),
        ("B", "y", "the array is written inside the loop"),
        ("A", "z", "No such loop 'z'"),
    ],
)
def test_reuse_at_refuses(name, axis, pattern):
    s = kernel("blur")
    refused(s, ScheduleError, pattern, lambda: s.reuse_at(getattr(s, name), axis))


def test_equivalent_variables_follow_calls():
    path = DATA.parent.parent / "data" / "calls_i8.mlir"
    s = Schedule.from_text(path.read_text())
    assert s.get_equivalent_variables("top:0") == {"top:A", "mm:A"}
    assert s.get_equivalent_variables("mm:C") == {"top:C", "mm:C"}
    with pytest.raises(UnknownHandleError, match="Target Z not found in function top"):
        s.get_equivalent_variables("Z")
    assert count(s, "func.func") == 2
