"""Templates called without brackets: arguments from the types passed, on every target."""

from pathlib import Path

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.ir.types import Fixed, Stream, UInt, float32, int8, int16, int32
from tests.compatibility.everywhere import EVERYWHERE, build, results

RNG = np.random.default_rng(6)


def gemm[TA, TB, TC, M, K, N](A: "TA[M, K]", B: "TB[K, N]", C: "TC[M, N]"):
    for i, j in allo.grid(M, N):
        total: TC = 0
        for k in allo.reduction(K):
            total += A[i, k] * B[k, j]
        C[i, j] = total


def two_layers(X: int8[2, 3], V: int8[3, 4], W: int16[4, 2], Z: int32[2, 2]):
    Y: int16[2, 4]
    gemm(X, V, Y)
    gemm(Y, W, Z)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_extents_and_types_of_arrays(target: str, tmp_path: Path) -> None:
    x, v = (RNG.integers(-20, 20, s).astype(np.int8) for s in ((2, 3), (3, 4)))
    w = RNG.integers(-50, 50, (4, 2)).astype(np.int16)
    *_, z = results(two_layers, target, tmp_path, x, v, w, np.zeros((2, 2), np.int32))
    np.testing.assert_array_equal(z, x.astype(np.int32) @ v.astype(np.int32) @ w)


def unpack[W, P, N](A: "UInt(W * P)[N // 1]", B: "UInt(W)[N + 0]", C: "int32[N - 1, 2 * P]"):
    for i in range(N):
        B[i] = A[i][0:W]
    for i in range(N - 1):
        for j in range(2 * P):
            C[i, j] = A[i] >> j


def words(A: UInt(12)[5], B: UInt(4)[5], C: int32[4, 6]):
    unpack(A, B, C)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_widths_and_extents_that_are_computed(target: str, tmp_path: Path) -> None:
    a = RNG.integers(0, 2**12, 5).astype(np.uint16)
    made = np.zeros(5, np.uint8), np.zeros((4, 6), np.int32)
    _, b, c = results(words, target, tmp_path, a, *made)
    np.testing.assert_array_equal(b, a & 15)
    np.testing.assert_array_equal(c, a[:4, None].astype(np.int32) >> np.arange(6))


def clamp[T, U](x: T, low: U, high: U) -> "T":
    found: T = x
    if x < low:
        found = low
    if x > high:
        found = high
    return found


def scalars(A: int16[8], B: float32[8], n: int32):
    for i in range(8):
        A[i] = clamp(A[i], -5, n)
        B[i] = clamp(high=2.5, low=B[0] - 1.0, x=B[i])


@pytest.mark.parametrize("target", EVERYWHERE)
def test_scalars_before_numbers_written_out(target: str, tmp_path: Path) -> None:
    a, b = RNG.integers(-30, 30, 8).astype(np.int16), RNG.normal(size=8).astype(np.float32) * 4
    got = [a.copy(), b.copy()]
    build(scalars, target, tmp_path)(*got, 11)
    np.testing.assert_array_equal(got[0], np.clip(a, -5, 11))
    wanted = b.copy()
    for i in range(8):
        low = wanted[0] - np.float32(1)
        wanted[i] = low if wanted[i] < low else wanted[i]
        wanted[i] = min(wanted[i], np.float32(2.5)) if b[i] > 2.5 else wanted[i]
    np.testing.assert_array_equal(got[1], wanted)


def send[T, N, D](words: "Stream[T, D]", a: "T[N]"):
    for i in range(N):
        words.put(a[i])


def take[T, B, N, D](blocks: "Stream[T[B], D]", a: "T[N, B]"):
    for i in range(N):
        a[i] = blocks.get()


@df.region()
def streams(A: Fixed(12, 4)[6], B: Fixed(12, 4)[3, 2]):
    single: Stream[Fixed(12, 4), 3][2]
    blocks: Stream[Fixed(12, 4)[2], 2]

    @df.kernel(mapping=[1], args=[A])
    def produce(a: Fixed(12, 4)[6]):
        send(single[1], a)

    @df.kernel(mapping=[1])
    def collect():
        for i in range(3):
            pair: Fixed(12, 4)[2] = 0
            for j in range(2):
                pair[j] = single[1].get()
            blocks.put(pair)

    @df.kernel(mapping=[1], args=[B])
    def consume(b: Fixed(12, 4)[3, 2]):
        take(blocks, b)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_elements_blocks_and_depths_of_streams(target: str, tmp_path: Path) -> None:
    a = RNG.integers(-128, 128, 6).astype(np.float32) / 16
    _, b = results(streams, target, tmp_path, a, np.zeros((3, 2), np.float32))
    np.testing.assert_array_equal(b, a.reshape(3, 2))


def norm[T, N](A: "T[N]") -> "T":
    total: T = 0
    for i in range(N):
        total += A[i] * A[i]
    return total


def rows(A: int32[4, 6], B: int32[4, 6], R: int32[4]):
    for i in range(4):
        R[i] = norm(A[i]) - norm(A[i, 0:3]) + norm(A[i] + B[i])


@pytest.mark.parametrize("target", EVERYWHERE)
def test_rows_slices_and_expressions(target: str, tmp_path: Path) -> None:
    def norm_without_casts(x: np.ndarray) -> np.ndarray:
        return (x.astype(np.int64) ** 2).sum(axis=1)

    a, b = (RNG.integers(-9, 9, (4, 6)).astype(np.int32) for _ in range(2))
    *_, r = results(rows, target, tmp_path, a, b, np.zeros(4, np.int32))
    wanted = norm_without_casts(a) - norm_without_casts(a[:, :3]) + norm_without_casts(a + b)
    np.testing.assert_array_equal(r, wanted)


def test_what_is_looked_at_for_its_type_leaves_nothing_behind() -> None:
    """The argument is elaborated once more for its type; loops, calls and names stay as they were."""

    def twice(x: int32[4]) -> int32[4]:
        y: int32[4] = x + x
        return y

    def inferred(A: int32[4]) -> int32:
        return norm(twice(A))

    def written(A: int32[4]) -> int32:
        return norm[int32, 4](twice(A))

    texts = [str(allo.customize(f).module).replace(f.__name__, "f") for f in (inferred, written)]
    order = [sorted(t.split("func.func")) for t in texts]
    assert order[0] == order[1]
    assert texts[0].count("call @twice") == 1
