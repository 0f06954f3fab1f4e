"""Schedules of programs whose calls read arrays as the other signedness: the same results on every target."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import allo
from allo.customize import Partition, Schedule
from allo.ir.types import Stateful, int8, int32, uint8
from tests.compatibility.everywhere import TARGETS, build

RNG = np.random.default_rng(31)


def produce(A: uint8[16], M: uint8[16]):
    for i in range(16):
        M[i] = A[i] + 100


def consume(M: int8[16], B: int32[16]):
    for j in range(16):
        B[j] = M[j] * 2


def chain(A: uint8[16], B: int32[16]):
    M: uint8[16]
    produce(A, M)
    consume(M, B)


def window(P: int8[10, 10], Q: int32[8, 8]):
    for y, x in allo.grid(8, 8):
        v: int32 = 0
        for r, c in allo.reduction(3, 3):
            v += P[y + r, x + c]
        Q[y, x] = v


def image(P: uint8[10, 10], Q: int32[8, 8]):
    window(P, Q)


def _compose(s: Schedule) -> None:
    inner = allo.customize(consume)
    inner.partition(inner.M, dim=1, factor=4, partition_type=Partition.Cyclic)
    inner.unroll("j", factor=4)
    s.compose(inner)


def _lines(s: Schedule) -> None:
    inner = allo.customize(window)
    rows = inner.reuse_at(inner.P, "y")
    inner.partition(inner.reuse_at(rows, "x"), dim=0)
    s.compose(inner)


SCHEDULES: dict[str, tuple[Callable, Callable[[Schedule], object]]] = {
    "fifo": (chain, lambda s: s.to(s.M, "consume", depth=4)),
    "dataflow": (chain, lambda s: s.dataflow("chain")),
    "inline": (chain, lambda s: s.inline("consume")),
    "compose": (chain, _compose),
    "line buffers": (image, _lines),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_keeps_the_values(name: str, target: str, tmp_path: Path) -> None:
    kernel, change = SCHEDULES[name]
    a = RNG.integers(0, 256, (16,) if kernel is chain else (10, 10)).astype(np.uint8)
    b = np.zeros((16,) if kernel is chain else (8, 8), np.int32)
    schedule = allo.customize(kernel)
    change(schedule)
    options = dict(TARGETS[target])
    if target == "csim":
        options["project"] = str(tmp_path / "p")
    schedule.build(**options)(a, b)
    if kernel is chain:
        wanted = (a + np.uint8(100)).view(np.int8).astype(np.int32) * 2
    else:
        views = np.lib.stride_tricks.sliding_window_view(a.view(np.int8), (3, 3))
        wanted = views.sum(axis=(2, 3), dtype=np.int32)
    np.testing.assert_array_equal(b, wanted)


def newest(x: int8) -> int32:
    history: uint8[4] @ Stateful = 0

    def total(h: int8[4]) -> int32:
        found: int32 = 0
        for i in range(4):
            found += h[i]
        return found

    for i in range(3):
        history[i] = history[i + 1]
    history[3] = x
    return total(history)


@pytest.mark.parametrize("target", ["interpret", *TARGETS])
def test_a_stateful_array_is_read_as_the_other_signedness(target: str, tmp_path: Path) -> None:
    module = build(newest, target, tmp_path)
    values = [-5, 100, -128, 127, 3]
    assert [module(v) for v in values] == [-5, 95, -33, 94, 102]


def test_verify_compares_them() -> None:
    one, two, three = (allo.customize(chain) for _ in range(3))
    two.inline("consume")
    assert allo.verify(one, two)

    def wrong(A: uint8[16], B: int32[16]):
        M: uint8[16]
        produce(A, M)
        for j in range(16):
            B[j] = M[j] * 2

    assert not allo.verify(three, allo.customize(wrong))
