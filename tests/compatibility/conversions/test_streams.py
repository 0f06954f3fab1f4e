"""Values of one type put into streams of another: cast as an assignment casts them, on every target."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.ir.types import (
    Fixed,
    Int,
    Stream,
    Struct,
    UInt,
    float32,
    int8,
    int16,
    int32,
    uint8,
    uint16,
    uint32,
)
from tests.compatibility.everywhere import EVERYWHERE, results

N, LANES = 8, 4
RNG = np.random.default_rng(12)


@df.region()
def unpacking(A: uint32[N], B: int8[N, LANES]):
    lanes: Stream[int8, 4][LANES]

    @df.kernel(mapping=[1], args=[A])
    def split(a: uint32[N]):
        for i in range(N):
            word: uint32 = a[i]
            with allo.meta_for(LANES) as k:
                lanes[k].put(word[8 * k : 8 * (k + 1)])

    @df.kernel(mapping=[LANES], args=[B])
    def sign(b: int8[N, LANES]):
        p = df.get_pid()
        for i in range(N):
            b[i, p] = lanes[p].get() // 2


@pytest.mark.parametrize("target", EVERYWHERE)
def test_slices_of_words_in_streams_of_signed_bytes(target: str, tmp_path: Path) -> None:
    a = RNG.integers(0, 2**32, N, dtype=np.uint32)
    _, b = results(unpacking, target, tmp_path, a, np.zeros((N, LANES), np.int8))
    np.testing.assert_array_equal(b, a.view(np.int8).reshape(N, LANES) // 2)


@df.region()
def packing(A: Int(5)[N, 2], B: UInt(10)[N]):
    low: Stream[UInt(5), 2]
    high: Stream[UInt(5), 2]

    @df.kernel(mapping=[1], args=[A])
    def bits(a: Int(5)[N, 2]):
        for i in range(N):
            low.put(a[i, 0])
            high.put(a[i, 1])

    @df.kernel(mapping=[1], args=[B])
    def word(b: UInt(10)[N]):
        for i in range(N):
            w: UInt(10) = low.get()
            w[5:10] = high.get()
            b[i] = w


@pytest.mark.parametrize("target", EVERYWHERE)
def test_signed_values_in_streams_of_unsigned_ones(target: str, tmp_path: Path) -> None:
    a = RNG.integers(-16, 16, (N, 2), dtype=np.int8)
    _, b = results(packing, target, tmp_path, a, np.zeros(N, np.uint16))
    low, high = (a[:, k].astype(np.int32) & 31 for k in range(2))
    np.testing.assert_array_equal(b, (low | high << 5).astype(np.uint16))


@df.region()
def growing(A: int32[N], B: int32[N], C: float32[N], D: int16[N]):
    sums: Stream[int32, 4]
    halves: Stream[float32, 4]
    parts: Stream[Fixed(16, 4), 4]

    @df.kernel(mapping=[1], args=[A])
    def produce(a: int32[N]):
        for i in range(N):
            sums.put(a[i] + a[i])
            halves.put(a[i])
            parts.put(a[i] >> 20)

    @df.kernel(mapping=[1], args=[B, C, D])
    def consume(b: int32[N], c: float32[N], d: int16[N]):
        for i in range(N):
            b[i] = sums.get()
            c[i] = halves.get()
            x: Fixed(16, 4) = parts.get()
            d[i] = x * 16


@pytest.mark.parametrize("target", EVERYWHERE)
def test_expressions_that_grow_wrap_and_round_like_assignments(target: str, tmp_path: Path) -> None:
    a = RNG.integers(-(2**31), 2**31, N, dtype=np.int32)
    made = [np.zeros(N, t) for t in (np.int32, np.float32, np.int16)]
    _, b, c, d = results(growing, target, tmp_path, a, *made)
    np.testing.assert_array_equal(b, a + a)
    np.testing.assert_array_equal(c, a.astype(np.float32))
    np.testing.assert_array_equal(d, ((a >> 20) << 4).astype(np.int16))


@df.region()
def blocks(A: int32[N, LANES], B: uint8[N, LANES], C: float32[N, LANES]):
    narrow: Stream[uint8[LANES], 2]
    each: Stream[float32, 2][LANES]

    @df.kernel(mapping=[1], args=[A])
    def send(a: int32[N, LANES]):
        for i in range(N):
            narrow.put(a[i])
            df.scatter(a[i], each[:])

    @df.kernel(mapping=[1], args=[B, C])
    def take(b: uint8[N, LANES], c: float32[N, LANES]):
        for i in range(N):
            b[i] = narrow.get()
            c[i] = df.gather(each[:])


@pytest.mark.parametrize("target", EVERYWHERE)
def test_blocks_and_scattered_arrays_are_cast_element_by_element(
    target: str, tmp_path: Path
) -> None:
    a = RNG.integers(-1000, 1000, (N, LANES), dtype=np.int32)
    b, c = np.zeros((N, LANES), np.uint8), np.zeros((N, LANES), np.float32)
    _, b, c = results(blocks, target, tmp_path, a, b, c)
    np.testing.assert_array_equal(b, a.astype(np.uint8))
    np.testing.assert_array_equal(c, a.astype(np.float32))


Signed = Struct({"re": int8, "im": uint8})
Plain = Struct({"re": uint8, "im": uint8})


@df.region()
def structs(A: uint16[N], B: int16[N], C: int16[N]):
    signed: Stream[Signed, 2]
    plain: Stream[Plain, 2]
    products: Stream[uint16, 2]

    @df.kernel(mapping=[1], args=[A])
    def read(a: uint16[N]):
        for i in range(N):
            x: Plain = a[i]
            signed.put(x)

    @df.kernel(mapping=[1])
    def multiply():
        for _ in range(N):
            x: Signed = signed.get()
            plain.put(x)
            products.put(x["re"] * x["im"])

    @df.kernel(mapping=[1], args=[B, C])
    def write(b: int16[N], c: int16[N]):
        for i in range(N):
            y: Signed = plain.get()
            b[i] = y["re"] - y["im"]
            c[i] = products.get()


@pytest.mark.parametrize("target", EVERYWHERE)
def test_structs_whose_fields_have_the_same_bits(target: str, tmp_path: Path) -> None:
    a = RNG.integers(0, 2**16, N, dtype=np.uint16)
    _, b, c = results(structs, target, tmp_path, a, np.zeros(N, np.int16), np.zeros(N, np.int16))
    re, im = (a & 255).astype(np.uint8).view(np.int8).astype(np.int32), (a >> 8).astype(np.int32)
    np.testing.assert_array_equal(b, re - im)
    np.testing.assert_array_equal(c, (re * im).astype(np.int16))
