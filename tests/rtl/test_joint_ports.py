"""Accesses of unknown banks that take turns at a port share one address, one bank and one word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo import Partition
from allo.backend.rtl.emit.memory.joint import Group
from allo.ir.types import Stream, int16, int32

LANES, TRIPS = 8, 12
SIZE = LANES * TRIPS


def gather(A: int32[96], P: int32[96], B: int32[96]):
    for i in range(12):
        for j in range(8):
            B[i * 8 + j] = A[P[i * 8 + j]]


def scatter(A: int32[96], P: int32[96], B: int32[96]):
    for i in range(12):
        for j in range(8):
            B[P[i * 8 + j]] = A[i * 8 + j] + i


def counted(A: int32[96], P: int32[96], B: int32[96]):
    for i in range(12):
        for j in range(8):
            if A[i * 8 + j] > 0:
                B[P[i * 8 + j]] += A[P[P[i * 8 + j]]]


def local(A: int32[96], P: int32[96], B: int32[96]):
    kept: int32[96]
    for i in range(12):
        for j in range(8):
            kept[P[i * 8 + j]] = A[i * 8 + j]
    for i in range(12):
        for j in range(8):
            B[i * 8 + j] = kept[95 - P[i * 8 + j]] - kept[i * 8 + j]


KERNELS = (gather, scatter, counted, local)


def inputs(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    values = rng.integers(-1000, 1000, (2, SIZE)).astype(np.int32)
    return [values[0], rng.permutation(SIZE).astype(np.int32), values[1]]


def scheduled(kernel: Callable[..., Any], kind: Partition, factor: int) -> Any:
    s = allo.customize(kernel)
    names = ["A", "P", "B", *(["kept"] if kernel is local else [])]
    for name in names:
        s.partition(getattr(s, name), kind, 1, factor)
    for _, band in s.get_loops():
        s.pipeline(band.i)
    return s


def differences(s: Any, simulator: str, seed: int) -> int:
    """How many elements the hardware has that the CPU build has not."""
    expected, found = inputs(seed), inputs(seed)
    s.build()(*expected)
    s.build(target="verilog", simulator=simulator)(*found)
    return sum(int((a != b).sum()) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
@pytest.mark.parametrize(
    ("kind", "factor"), [(Partition.Cyclic, 8), (Partition.Cyclic, 5), (Partition.Block, 4)]
)
def test_the_in_process_engine_has_the_bits_of_the_cpu(
    kernel: Callable[..., Any], kind: Partition, factor: int
) -> None:
    assert differences(scheduled(kernel, kind, factor), "jit", factor) == 0


@pytest.mark.parametrize("kernel", [counted, local], ids=lambda k: k.__name__)
def test_verilator_has_the_bits_of_the_cpu(kernel: Callable[..., Any]) -> None:
    assert differences(scheduled(kernel, Partition.Cyclic, 8), "verilator", 3) == 0


@df.region()
def waiting(A: int32[96], P: int32[96], B: int32[96]):
    words: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A, P])
    def give(a: int32[96], p: int32[96]):
        for i in range(12):
            for j in range(8):
                words.put(a[p[i * 8 + j]])

    @df.kernel(mapping=[1], args=[B])
    def take(b: int32[96]):
        for k in range(96):
            b[k] = words.get() // (b[k] * b[k] + 1)


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
def test_a_wait_for_a_stream_freezes_the_bank_that_is_read(simulator: str) -> None:
    """The consumer is slow, so the gather stands still while words are on their way."""
    s = df.customize(waiting)
    s.partition("give_0:a", Partition.Cyclic, 1, 4)
    s.unroll("give_0:j", 4)
    assert differences(s, simulator, 1) == 0


def rows(A: int32[96], P: int32[96], B: int32[96]):
    kept: int32[4, 8] = 0
    for t in range(12):
        for j in range(8):
            B[t * 8 + j] = (
                kept[(t + 1) % 4, j] + 3 * kept[(t + 2) % 4, j] + 5 * kept[(t + 3) % 4, j]
            )
            kept[t % 4, j] = A[t * 8 + j]


def of_rows() -> Any:
    """Three reads of a line buffer use the ports of other banks in one cycle."""
    s = allo.customize(rows)
    s.partition(s.kept, Partition.Cyclic, 1, 4)
    s.pipeline("j")
    return s


def test_reads_that_meet_in_a_cycle_keep_their_own_addresses() -> None:
    assert differences(of_rows(), "jit", 1) == 0


def test_choices_grow_as_lanes_and_not_as_their_square() -> None:
    def lookups[L](A: int16[16 * L], P: int16[16 * L], B: int16[16 * L]):
        for i in range(16):
            for j in range(L):
                B[i * L + j] = A[P[i * L + j]]

    found = []
    for lanes in (8, 16, 32):
        s = allo.customize(lookups, instantiate=[lanes])
        s.unroll("j")
        s.pipeline("i")
        for array in (s.A, s.P, s.B):
            s.partition(array, Partition.Cyclic, 1, lanes)
        found.append(s.build(target="verilog").report.resources["lut"])
    assert found[1] < 2.5 * found[0]
    assert found[2] < 2.5 * found[1]


def test_a_bank_of_the_wrong_cycle_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Group.join

    def unregistered(group: Group, text: Any, moving: str) -> None:
        register = text.register
        text.register = lambda name, following, width, **_: text.alias(name, following, width)
        plain(group, text, moving)
        text.register = register

    monkeypatch.setattr(Group, "join", unregistered)
    assert differences(scheduled(gather, Partition.Cyclic, 8), "jit", 1) > 0


def test_one_address_for_reads_that_meet_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Group, "alternate", property(lambda group: len(group.turns) > 1))
    assert differences(of_rows(), "jit", 1) > 0
