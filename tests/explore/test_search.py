"""``allo.autoschedule``: what it finds is right, is as good as a hand's, keeps to limits, and says so."""

from __future__ import annotations

import copy
import time
from typing import Any

import numpy as np
import pytest

import allo
from allo.designs.polybench.blas.gemm import gemm
from allo.designs.polybench.products.three_mm_nests import three_mm_nests
from allo.errors import AutoscheduleError
from allo.explore import FoundSchedule, Progress
from allo.explore.check import Checker, _equal
from allo.explore.model.read import read_kernel
from allo.ir.types import float32, int8, int32
from tests.designs.by_hand import load
from tests.explore import kernels

QUICK: dict[str, Any] = {
    "clock_mhz": 300.0,
    "seconds": 20.0,
    "cache": False,
    "timer": time.process_time,
}
FLOATS = {**QUICK, "reassociate": True, "subnormals": "flush"}


def arguments(schedule: allo.customize.Schedule) -> list[np.ndarray]:  # type: ignore[name-defined]
    rng = np.random.default_rng(5)
    made = []
    for info in schedule.func_args[schedule.top_func_name]:
        integer = str(info.dtype).startswith(("i", "u"))
        values = rng.integers(0, 20, info.shape) if integer else rng.standard_normal(info.shape)
        made.append(np.asarray(values).astype(np.int32 if integer else np.float32))
    return made


def simulated(found: FoundSchedule, **options: Any) -> int:
    """Run the hardware beside the CPU build of the same schedule; the cycles."""
    hardware = found.build(target="verilog", simulator="jit", clock_mhz=300.0, **options)
    cpu = found.build(**options)
    ours, wanted = arguments(found), arguments(found)
    hardware(*ours)
    cpu(*wanted)
    for a, b in zip(ours, wanted, strict=True):
        assert a.tobytes() == b.tobytes()
    return int(hardware.cycles)


def again(found: FoundSchedule) -> str:
    """The module that the script makes."""
    names: dict[str, Any] = {}
    exec(found.script(), names)
    return str(names["schedule"]().module)


@pytest.mark.parametrize("dsp", [24, 80])
def test_a_product_is_as_fast_as_by_hand_within_the_limit(dsp: int) -> None:
    by_hand = load("gemm").schedule((20, 24, 22), dsp // 2)
    wanted = by_hand.estimate(clock_mhz=300.0, subnormals="flush")
    found = allo.autoschedule(gemm, instantiate=[20, 24, 22], max_dsp=dsp, **FLOATS)
    report = found.estimate(clock_mhz=300.0, subnormals="flush")
    assert report.cycles == found.trace.cycles
    assert report.cycles <= 1.03 * wanted.cycles
    assert report.resources["dsp"] <= dsp
    assert again(found) == str(found.module)
    assert len(found.script().splitlines()) < 40


def test_the_hardware_takes_the_cycles_and_gives_the_bits() -> None:
    found = allo.autoschedule(kernels.product, max_dsp=16, **FLOATS)
    assert simulated(found, subnormals="flush") == found.trace.cycles
    assert found.trace.cycles * 5 < found.trace.plain


def test_without_reassociation_every_bit_is_the_kernels() -> None:
    found = allo.autoschedule(kernels.product, max_dsp=16, **QUICK)
    ours, wanted = arguments(found), arguments(found)
    found.build()(*ours)
    allo.customize(kernels.product).build()(*wanted)
    assert ours[2].tobytes() == wanted[2].tobytes()
    assert not any(name == "rebalance" for name, _, _ in found.primitive_sequences)


@pytest.mark.parametrize("reassociate", [False, True])
def test_other_orders_of_sums_are_allowed_only_where_the_user_does(
    reassociate: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    differs = Checker.differs

    def noted(self: Checker, found: Any, *, reassociated: bool) -> str:
        seen.append(reassociated)
        return differs(self, found, reassociated=reassociated)

    monkeypatch.setattr(Checker, "differs", noted)
    asked = {**QUICK, "reassociate": reassociate, "cache": False}
    found = allo.autoschedule(kernels.product, max_dsp=16, **asked)
    assert any(name == "reorder" for name, _, _ in found.primitive_sequences)
    assert seen == [reassociate]


@pytest.mark.parametrize("kernel", [kernels.triangle, kernels.stencil, kernels.sweep, kernels.pair])
def test_other_shapes_of_nests(kernel: Any) -> None:
    found = allo.autoschedule(kernel, max_dsp=60, **FLOATS)
    assert found.trace.cycles < found.trace.plain
    assert simulated(found, subnormals="flush") == found.trace.cycles
    assert allo.verify(allo.customize(kernel), found, reassociate=True)


def test_kernels_that_data_decide_get_what_is_legal() -> None:
    moved = allo.autoschedule(kernels.gather, max_dsp=10, **QUICK)
    assert "equal" in moved.trace.checked
    swept = allo.autoschedule(kernels.in_place, max_dsp=10, **QUICK)
    assert swept.trace.cycles <= swept.trace.plain
    looped = allo.autoschedule(kernels.countdown, **QUICK)
    assert "while loop" in looped.trace.checked
    given = allo.autoschedule(
        kernels.countdown, inputs=lambda rng: [int(rng.integers(30))], **QUICK
    )
    assert "equal" in given.trace.checked


def test_the_trace_tells_bound_gap_and_limit() -> None:
    trace = allo.autoschedule(kernels.product, max_dsp=16, **FLOATS).trace
    assert trace.bound <= trace.cycles
    assert trace.gap is not None and trace.gap < 0.1
    text = str(trace)
    for part in ("considered", "bound of the model", "gap", "limited by DSP (16 of 16)", "checked"):
        assert part in text


def test_what_was_applied_stays() -> None:
    s = allo.customize(kernels.pair)
    s.pipeline(s.get_loops()["first"]["j"], initiation_interval=9)
    before = len(s.primitive_sequences)
    found = allo.autoschedule(s, max_dsp=40, **FLOATS)
    assert found.primitive_sequences[:before] == s.primitive_sequences
    assert len(s.primitive_sequences) == before
    assert not any("first" in str(call) for call in found.primitive_sequences[before:])
    assert any("applied primitives" in reason for reason in found.trace.unexplored)
    assert again(found) == str(found.module)


def test_a_script_of_many_nests_is_short() -> None:
    found = allo.autoschedule(
        three_mm_nests, instantiate=[float32, 12, 10, 14, 8, 9], max_dsp=40, **FLOATS
    )
    assert again(found) == str(found.module)
    assert len(found.script().splitlines()) < 40


def test_the_smallest_design_of_so_many_cycles() -> None:
    fast = allo.autoschedule(kernels.product, max_dsp=16, **FLOATS)
    small = allo.autoschedule(
        kernels.product, objective="area", max_cycles=4 * fast.trace.cycles, **FLOATS
    )
    assert small.trace.cycles <= 4 * fast.trace.cycles
    assert small.estimate().resources["dsp"] < 16


def test_an_interrupt_gives_the_best_so_far() -> None:
    def interrupt(at: Progress) -> None:
        if at.tried > 1 and at.doing == "solving":
            raise KeyboardInterrupt

    found = allo.autoschedule(kernels.product, max_dsp=16, progress=interrupt, **FLOATS)
    assert found.trace.ended == "interrupted"
    assert found.trace.cycles <= found.trace.plain


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_time_that_is_too_short_is_told() -> None:
    words = (
        r"0 s were too short to build one choice of the model for product; the result has pipelines of "
        r"its innermost loops alone, [\d,]+% above the bound, and [\d,]+ tiles and orders are not explored"
    )
    with pytest.warns(UserWarning, match=words):
        found = allo.autoschedule(kernels.product, max_dsp=16, **{**FLOATS, "seconds": 0.0})
    assert found.trace.cycles == found.trace.plain


def test_a_schedule_that_computes_something_else_is_seen() -> None:
    wrong = allo.customize(kernels.product)
    text = str(wrong.module).replace("arith.addf", "arith.subf")
    changed = type(wrong).from_text(text, "product")
    checker = Checker(allo.customize(kernels.product), None, {})
    assert not checker.differs(copy.copy(wrong), reassociated=False)
    assert "array 2" in checker.differs(changed, reassociated=True)


@pytest.mark.parametrize(
    ("kernel", "options", "words"),
    [
        (
            kernels.product,
            {"max_dsp": 1},
            "One unit for mulf of f32 takes 2 DSP, and the limit is 1",
        ),
        (kernels.product, {"max_lut": 300}, "One unit for"),
        (kernels.product, {"max_lut": 500}, "The smallest design of product takes"),
        (kernels.straight, {}, "nothing to schedule in straight"),
        (kernels.product, {"objective": "speed"}, "not 'speed'"),
        (kernels.product, {"device": "u9000"}, "There is no device 'u9000'"),
        (kernels.product, {"seconds": -1}, "seconds is a positive number"),
    ],
)
def test_what_cannot_be_is_refused(kernel: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(AutoscheduleError) as refused:
        allo.autoschedule(kernel, **{**QUICK, **options})
    assert words in str(refused.value)


def test_limits_that_contradict_what_was_applied_are_refused() -> None:
    s = allo.customize(kernels.sweep)
    s.unroll("j", factor=10)
    s.pipeline("j")
    with pytest.raises(AutoscheduleError) as refused:
        allo.autoschedule(s, max_dsp=3, **QUICK)
    assert "primitives applied already (pipeline, unroll)" in str(refused.value)


def test_two_accesses_of_one_array_get_banks_for_both() -> None:
    found = allo.autoschedule(kernels.triangle, max_dsp=130, **FLOATS)
    designs = [t for t in found.trace.tried if t.modelled is not None]
    assert designs and all(t.cycles <= 1.1 * t.modelled for t in designs)


def test_nan_and_wide_integers_are_compared_by_value() -> None:
    nan = np.array([np.nan, 1.0], np.float32)
    other = np.array([0xFFC00001, 0x3F800000], np.uint32).view(np.float32)
    assert _equal(nan, other, False)
    assert not _equal(nan, np.array([1.0, np.nan], np.float32), False)
    wide = [np.array([2**70, n], dtype=object) for n in (1, 1, 2)]
    assert _equal(wide[0], wide[1], False) and not _equal(wide[0], wide[2], True)


def test_structs_with_arrays_are_compared_by_their_elements() -> None:
    def packet(word: int, least: float) -> np.ndarray:
        fields = {"words": np.array([1, word], np.int32), "least": least}
        return np.array([fields, (fields["words"], [least])], dtype=object)

    assert _equal(packet(2, float("nan")), packet(2, float("nan")), False)
    assert not _equal(packet(2, 1.0), packet(3, 1.0), False)
    assert not _equal(packet(2, 1.0), packet(2, 2.0), True)


def test_what_is_read_of_a_kernel() -> None:
    found = read_kernel(allo.customize(kernels.triangle))
    nest = found.nests[0]
    assert [loop.name for loop in nest.chain] == ["i", "j"]
    assert nest.inner_sums == [("k", True)]
    assert nest.chain[1].over == ("i", (0, 0), (1, 1))
    assert read_kernel(allo.customize(kernels.pair)).waits == []


def weighted(W: int8[16, 64], x: int8[64]) -> int32[16]:
    y: int32[16] = 0
    for i in range(16):
        for k in allo.reduction(64):
            y[i] += W[i, k] * x[k]
    return y


def test_integer_sums_are_trees_that_no_loop_waits_for() -> None:
    found = allo.autoschedule(weighted, max_dsp=32, **{**QUICK, "seconds": 3.0})
    report = found.estimate(device="xcup", clock_mhz=300.0)
    assert any(name == "rebalance" for name, _, _ in found.primitive_sequences)
    assert all(loop.ii == 1 for function in report.functions for loop in function.loops)
    assert found.trace.cycles is not None and found.trace.cycles <= 1.5 * 16 * 64 / 32
    rng = np.random.default_rng(6)
    arrays = [rng.integers(-128, 128, shape).astype(np.int8) for shape in ((16, 64), (64,))]
    hardware = found.build(target="verilog", simulator="jit", clock_mhz=300.0)
    assert np.array_equal(hardware(*arrays), arrays[0].astype(np.int32) @ arrays[1])
    assert hardware.cycles == found.trace.cycles
