"""Arrays of integers passed for parameters of the other signedness: by reference, the same bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.ir.types import Int, Stream, UInt, int8, int16, int32, uint8
from tests.compatibility.everywhere import EVERYWHERE, results

RNG = np.random.default_rng(21)
WEIGHTS = RNG.integers(0, 256, (2, 4), dtype=np.uint8)


def total(m: int8[4]) -> int32:
    found: int32 = 0
    for j in range(4):
        found += m[j] * (j + 1)
    return found


def halve(m: int8[2, 4], n: int8[2, 4]):
    for i, j in allo.grid(2, 4):
        n[i, j] = m[i, j] >> 1


def arrays_rows_and_constants(A: uint8[2, 4], B: uint8[2, 4], R: int32[4]):
    halve(A, B)
    local: int8[2, 4]
    halve(B, local)
    R[0] = total(A[1])
    R[1] = total(local[0])
    weights: uint8[2, 4] = WEIGHTS
    R[2] = total(weights[1])
    R[3] = local[1, 2]


@pytest.mark.parametrize("target", EVERYWHERE)
def test_unsigned_bytes_for_signed_parameters(target: str, tmp_path: Path) -> None:
    a = RNG.integers(0, 256, (2, 4), dtype=np.uint8)
    made = np.zeros((2, 4), np.uint8), np.zeros(4, np.int32)
    _, b, r = results(arrays_rows_and_constants, target, tmp_path, a, *made)
    signed = a.view(np.int8)
    np.testing.assert_array_equal(b.view(np.int8), signed >> 1)
    steps = np.arange(1, 5)
    wanted = [row.astype(np.int32) @ steps for row in (signed[1], signed[0] >> 2)]
    wanted += [WEIGHTS.view(np.int8)[1].astype(np.int32) @ steps, signed[1, 2] >> 2]
    np.testing.assert_array_equal(r, wanted)


def negate(m: Int(5)[6]):
    for i in range(6):
        m[i] = -m[i] if m[i] < 0 else m[i] // 3


def grow(m: UInt(5)[6], signed: Int(5)[6]):
    for i in range(6):
        m[i] = m[i] + 3
        m[i] = signed[i] // 2


def twice(A: UInt(5)[6], B: Int(5)[6]):
    negate(A)
    negate(B)
    grow(B, B)
    grow(A, A)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_one_array_under_both_types_at_once(target: str, tmp_path: Path) -> None:
    def wrapped(v: np.ndarray) -> np.ndarray:
        return (v.astype(np.int32) + 16) % 32 - 16

    a = RNG.integers(0, 32, 6, dtype=np.uint8)
    b = RNG.integers(-16, 16, 6, dtype=np.int8)
    got = results(twice, target, tmp_path, a, b)
    for before, after in zip((a, b), got, strict=True):
        signed = wrapped(before)
        once = wrapped(np.where(signed < 0, -signed, signed // 3))
        np.testing.assert_array_equal(wrapped(after), wrapped(once + 3) // 2)


def scale(values: int16[8], factor: int16[8]):
    for i in range(8):
        values[i] = values[i] * factor[i] // 4


@df.region()
def chain(A: UInt(16)[8], F: UInt(16)[8], B: int32[8]):
    words: Stream[int16, 2]

    @df.kernel(mapping=[1], args=[A, F])
    def produce(a: UInt(16)[8], f: UInt(16)[8]):
        scale(a, f)
        for i in range(8):
            words.put(a[i])

    @df.kernel(mapping=[1], args=[B])
    def consume(b: int32[8]):
        for i in range(8):
            b[i] = words.get()


@pytest.mark.parametrize("target", EVERYWHERE)
def test_a_kernel_of_a_region_calls_with_the_other_signedness(target: str, tmp_path: Path) -> None:
    a, f = (RNG.integers(0, 2**16, 8).astype(np.uint16) for _ in range(2))
    _, _, b = results(chain, target, tmp_path, a, f, np.zeros(8, np.int32))
    product = a.view(np.int16).astype(np.int64) * f.view(np.int16) // 4
    np.testing.assert_array_equal(b, product.astype(np.int16))


def test_the_array_is_passed_by_reference_and_no_copy_is_made() -> None:
    schedule = allo.customize(twice)
    assert "memref.copy" not in str(schedule.module)
    assert str(schedule.module).count("memref.alloc") == 0
    text = str(schedule.build(target="vhls").hls_code)
    assert "void negate_v0(\n  ap_uint<5> m[6]\n)" in text
    assert "(ap_int<5> *)" not in text


def test_a_schedule_of_the_callee_reaches_the_array_of_the_caller(tmp_path: Path) -> None:
    def reading(A: uint8[16], B: int32[16]):
        def signs(a: int8[16], b: int32[16]):
            for i in range(16):
                b[i] = a[i]

        signs(A, B)

    schedule = allo.customize(reading)
    schedule.partition("signs:a", dim=1, factor=4)
    schedule.unroll("signs:i", factor=4)
    schedule.pipeline("signs:i")
    a, b = RNG.integers(0, 256, 16, dtype=np.uint8), np.zeros(16, np.int32)
    schedule.build(target="verilog", simulator="jit")(a, b)
    np.testing.assert_array_equal(b, a.view(np.int8))
    b[:] = 0
    schedule.build(target="vhls", mode="csim", project=str(tmp_path / "p"))(a, b)
    np.testing.assert_array_equal(b, a.view(np.int8))
