"""split, reorder, unroll, pipeline, parallel: golden IR and refusals that leave the module alone."""

from __future__ import annotations

import pytest

from allo.errors import IllegalTransformError, ScheduleError, UnknownHandleError
from tests.schedule.support import check_golden, count, kernel, loops, refused, text


def test_split_divisible_composes_the_subscripts():
    s = kernel("gemm")
    s.split("j", 8)
    assert loops(s) == ["i", "j.outer", "j.inner", "k"]
    check_golden(s, "split_j8")


def test_split_again_and_not_divisible():
    s = kernel("gemm")
    s.split("i", 5)
    s.split("i.outer", 3)
    assert loops(s)[:3] == ["i.outer.outer", "i.outer.inner", "i.inner"]
    check_golden(s, "split_twice")


@pytest.mark.parametrize(
    ("factor", "pattern"),
    [
        (0, r"gemm.py:4:5: split j: the factor must be positive, got 0\..*help: give"),
        (-3, r"the factor must be positive, got -3"),
        (32, r"the factor 32 is not below the extent 32\.\nhelp: use a factor between 1 and 31"),
        (2.5, r"the factor must be an integer, got 2.5"),
    ],
)
def test_split_refuses_bad_factors(factor, pattern):
    s = kernel("gemm")
    refused(s, ScheduleError, pattern, lambda: s.split("j", factor))


def test_unknown_loop_names_near_misses():
    s = kernel("gemm")
    s.split("j", 4)
    refused(
        s,
        UnknownHandleError,
        r"No such loop 'j\.out': Cannot find the band of loop j\.out in function gemm\.\n"
        r"help: did you mean 'j\.outer'\? function gemm has the loops i, j\.outer, j\.inner, k\.",
        lambda: s.pipeline("j.out"),
    )
    refused(s, UnknownHandleError, "Function f not found", lambda: s.pipeline("f:i"))
    refused(
        s,
        UnknownHandleError,
        r"Function S_i_j_k_0 not found: S_i_j_k_0 is a band of function gemm\.\n"
        r'help: take the loop from its band: s\.get_loops\(\)\["S_i_j_k_0"\]\["k"\]\.',
        lambda: s.pipeline("S_i_j_k_0:k"),
    )


def test_one_loop_name_in_two_bands_is_ambiguous():
    s = kernel("stencil")
    refused(
        s,
        ScheduleError,
        r"Find multiple bands containing loop i in function stencil: S_i_j_0, S_i_j_1\..*"
        r'help: take the loop from its band: s\.get_loops\("stencil"\)\["S_i_j_0"\]\["i"\]',
        lambda: s.pipeline("i"),
    )
    s.pipeline(s.get_loops().S_i_j_1.j, initiation_interval=2)
    assert 'loop_name = "j", pipeline_ii = 2 : ui32}' in text(s)


def test_reorder_keeps_float_order_per_element():
    s = kernel("gemm")
    s.reorder("k", "j")
    assert loops(s) == ["i", "k", "j"]
    check_golden(s, "reorder_k_j")


def test_reorder_takes_the_positions_the_loops_occupy():
    s = kernel("gemm")
    s.reorder("k", "i")
    assert loops(s) == ["k", "j", "i"]
    assert 'loop_name = "k", op_name = "S_i_j_k_0"' in text(s)


def test_reorder_refuses_a_broken_dependence_and_shows_it():
    s = kernel("stencil")
    band = s.get_loops().S_i_j_0
    error = refused(
        s,
        IllegalTransformError,
        r"stencil.py:3:19: Cannot reorder j, i: it breaks a read after write dependence on A; "
        r"the store of A at \(i=1, j=1\) \(line 3\) must run before the load of A at "
        r"\(i=2, j=0\) \(line 3\)\.",
        lambda: s.reorder(band.j, band.i),
    )
    assert "note: stencil.py:3:9: first: the store of A" in str(error)


def test_reorder_of_an_integer_sum_is_free():
    s = kernel("stencil")
    band = s.get_loops().S_i_j_1
    s.split(band.j, 4)
    band = s.get_loops().S_i_j_1
    s.reorder(band["j.inner"], band["j.outer"])
    assert loops(s) == ["i", "j", "i", "j.inner", "j.outer"]


def test_reorder_of_a_float_sum_needs_the_reduction_declaration():
    s = kernel("gemm")
    s.split("k", 4)
    refused(
        s,
        IllegalTransformError,
        r"breaks a read after write dependence on C.*help: floating-point sums round differently "
        r"in another order; declare the summed loops with allo\.reduction to allow it\.",
        lambda: s.reorder("k.inner", "k.outer"),
    )


def test_reorder_of_a_declared_float_sum_is_allowed():
    from allo.schedule import Schedule
    from tests.schedule.support import DATA

    source = (DATA / "gemm.mlir").read_text().replace('"k"}', '"k", reduction}')
    s = Schedule.from_text(source)
    s.split("k", 4)
    s.reorder("k.inner", "k.outer")
    assert loops(s) == ["i", "j", "k.inner", "k.outer"]
    assert count(s, "reduction") == 2


@pytest.mark.parametrize(
    ("axes", "pattern"),
    [
        (("i",), "needs at least two loops, got 1"),
        (("i", "i"), "loop i is named twice"),
        (("i", 3), "reorder expects a loop, got 3"),
    ],
)
def test_reorder_refuses_malformed_calls(axes, pattern):
    s = kernel("gemm")
    refused(s, ScheduleError, pattern, lambda: s.reorder(*axes))


def test_reorder_refuses_imperfect_nests():
    s = kernel("gemm")
    s.reorder("k", "j")
    s.buffer_at(s.C, "i")
    refused(
        s,
        ScheduleError,
        "Cannot reorder k, i: the nest from i to k is not perfect",
        lambda: s.reorder("k", "i"),
    )


def test_reorder_finds_the_tiles_that_have_an_iteration():
    s = kernel("gemm")
    s.split("j", 5)
    s.reorder("j.inner", "j.outer")
    assert loops(s) == ["i", "j.inner", "j.outer", "k"]
    assert "floordiv" in text(s), "32 are six tiles of 5 and one of 2"


def test_marks():
    s = kernel("gemm")
    s.unroll("k", factor=4)
    s.pipeline("j", initiation_interval=3, rewind=True)
    s.parallel("i")
    s.dataflow("gemm")
    s.inline()
    check_golden(s, "marks")


@pytest.mark.parametrize(
    ("factor", "pattern"),
    [
        (-1, "unroll k: the factor must be zero or more, got -1"),
        (33, "the factor 33 is beyond the extent 32"),
    ],
)
def test_unroll_refuses_bad_factors(factor, pattern):
    s = kernel("gemm")
    refused(s, ScheduleError, pattern, lambda: s.unroll("k", factor))


def test_pipeline_refuses_a_zero_interval():
    s = kernel("gemm")
    refused(
        s,
        ScheduleError,
        "the initiation interval must be positive, got 0",
        lambda: s.pipeline("k", 0),
    )


def test_pipeline_refuses_a_rewind_that_is_neither():
    s = kernel("gemm")
    refused(
        s,
        ScheduleError,
        "pipeline k: rewind is True or False, got 3",
        lambda: s.pipeline("k", rewind=3),
    )


def test_parallel_refuses_a_carried_dependence():
    s = kernel("stencil")
    refused(
        s,
        IllegalTransformError,
        "Cannot run loop i in parallel: it breaks a read after write dependence on A",
        lambda: s.parallel(s.get_loops().S_i_j_0.i),
    )
    s.parallel(s.get_loops().S_i_j_0.j)
    s.parallel(s.get_loops().S_i_j_1.j)


def test_dataflow_and_inline_take_functions():
    s = kernel("gemm")
    refused(s, UnknownHandleError, "Function i not found", lambda: s.dataflow("i"))
    refused(s, AssertionError, "Function name must be a string", lambda: s.inline(3))
    s.dataflow(s.get_loops().S_i_j_k_0.i)
    assert 'dataflow, loop_name = "i"' in text(s)


def test_handles_of_loops():
    s = kernel("gemm")
    bands = s.get_loops()
    band = bands["S_i_j_k_0"]
    assert repr(bands) == "LoopBand(['S_i_j_k_0'])"
    assert repr(band.j) == "LoopWrapper(gemm:S_i_j_k_0.j)"
    assert band.j.name == "gemm:S_i_j_k_0.j"
    assert [n for n, _ in band] == ["i", "j", "k"]
    assert band.get_outer_most().attributes["loop_name"].value == "i"
    with pytest.raises(ValueError, match="not a single band"):
        bands.get_outer_most()
    with pytest.raises(AttributeError, match="No such loop 'l' in band S_i_j_k_0"):
        getattr(band, "l")
    with pytest.raises(AttributeError, match="has no buffer or attribute 'D'"):
        _ = s.D


def test_handles_survive_a_refused_primitive():
    s = kernel("gemm")
    band = s.get_loops().S_i_j_k_0
    refused(s, ScheduleError, "the factor must be positive", lambda: s.split("j", 0))
    assert band.j.loop.attributes["loop_name"].value == "j"
    s.pipeline(band.j)
    assert "pipeline_ii" in band.j.loop.attributes
