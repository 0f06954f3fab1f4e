"""Templates called without brackets: arguments from names of the caller, on every target."""

from pathlib import Path

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.ir.types import ConstExpr, Int, Stream, int8, int16, int32, uint8
from tests.compatibility.everywhere import EVERYWHERE, results

RNG = np.random.default_rng(5)


def stage[T, N](A: "T[N]", B: "T[N]"):
    for i in range(N):
        B[i] = A[i] // 2 + 1


def pipeline[T, N](A: "T[N]", B: "T[N]"):
    C: T[N]
    stage(A, C)
    stage(C, B)


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("dtype", [int16, int32, Int(7)], ids=str)
def test_a_stage_takes_the_callers_arguments(dtype, target: str, tmp_path: Path) -> None:
    numpy_type = np.int8 if dtype.bits < 8 else f"int{dtype.bits}"
    a = RNG.integers(-60, 60, 6).astype(numpy_type)
    _, b = results(pipeline, target, tmp_path, a, np.zeros_like(a), instantiate=[dtype, 6])
    np.testing.assert_array_equal(b, (a // 2 + 1) // 2 + 1)


def weighted[T, N, W](x: T, A: "int32[N]") -> "T":
    total: T = 0
    for i in range(N):
        total += A[i] * W + x
    return total


def outer[T, W](A: int32[5], R: "T[2]"):
    def halves[W](B: int32[5]) -> T:
        found: T = B[0] / W
        return found

    R[0] = weighted(A[4] / 2, A)
    R[1] = halves(A)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_names_decide_the_types_of_scalars(target: str, tmp_path: Path) -> None:
    a = RNG.integers(-100, 100, 5).astype(np.int32)
    _, r = results(outer, target, tmp_path, a, np.zeros(2, np.int16), instantiate=[int16, 3])
    half, quotient = (int(np.trunc(a[k] / d)) for k, d in ((4, 2), (0, 3)))
    assert r.tolist() == [int(np.sum(a * 3 + half)), quotient]


def shifted[T, N, K](A: "T[N]", B: "T[N]"):
    for i in range(N):
        B[i] = A[i] >> K


def constants[T](A: "T[8]", B: "T[8]", C: "T[8]"):
    K: ConstExpr[int32] = 1  # noqa: F841
    shifted(A, B)
    shift_again(B, C)


def shift_again[T](B: "T[8]", C: "T[8]"):
    with allo.meta_for(2, 4) as K:  # noqa: F841
        shifted(B, C)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_constants_and_meta_for_variables_of_the_caller(target: str, tmp_path: Path) -> None:
    a = RNG.integers(-128, 128, 8).astype(np.int8)
    made = np.zeros_like(a), np.zeros_like(a)
    _, b, c = results(constants, target, tmp_path, a, *made, instantiate=[int8])
    np.testing.assert_array_equal(b, a >> 1)
    np.testing.assert_array_equal(c, b >> 3)


def sum_of[T, N](A: "T[N]") -> int32:
    total: int32 = 0
    for i in range(N):
        total += A[i]
    return total


def signed[T, N](A: "uint8[N]", R: int32[2]):
    R[0] = sum_of(A)
    R[1] = sum_of[uint8, N](A)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_a_name_goes_before_the_signedness_of_an_array(target: str, tmp_path: Path) -> None:
    a = RNG.integers(128, 256, 4).astype(np.uint8)
    _, r = results(signed, target, tmp_path, a, np.zeros(2, np.int32), instantiate=[int8, 4])
    assert r.tolist() == [int(a.view(np.int8).sum(dtype=int)), int(a.sum(dtype=int))]


def double[T, N](A: "T[N]", B: "T[N]"):
    for i in range(N):
        B[i] = A[i] * 2


@df.region()
def inner[N, P](x: int32[N], y: int32[N]):
    pipe: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[x])
    def first(a: int32[N]):
        for i in range(N):
            pipe.put(a[i] + P)

    @df.kernel(mapping=[1], args=[y])
    def second(b: int32[N]):
        for i in range(N):
            b[i] = pipe.get()


@df.region()
def hierarchy(x: int32[6], y: int32[6], z: int32[6]):
    @df.kernel(mapping=[2], args=[x, y, z])
    def wrap(a: int32[6], b: int32[6], c: int32[6]):
        P = df.get_pid()
        with allo.meta_if(P == 0):
            inner(a, b)
        with allo.meta_else():
            d: int32[6]
            double(a, d)
            inner(d, c)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_a_region_inside_a_kernel_takes_its_coordinates(target: str, tmp_path: Path) -> None:
    x = RNG.integers(-100, 100, 6).astype(np.int32)
    made = np.zeros_like(x), np.zeros_like(x)
    _, y, z = results(hierarchy, target, tmp_path, x, *made)
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(z, 2 * x + 1)


def test_calls_with_and_without_brackets_share_one_function() -> None:
    def both[T, N](A: "T[N]", B: "T[N]"):
        stage(A, B)
        stage[T, N](B, A)

    assert list(allo.customize(both, instantiate=[int32, 4]).func_args) == ["stage", "both"]


def test_an_instance_id_alone_leaves_the_arguments_to_the_call() -> None:
    def named[T, N](A: "T[N]", B: "T[N]"):
        stage["first"](A, B)
        stage["second"](B, A)

    schedule = allo.customize(named, instantiate=[int32, 4])
    assert list(schedule.func_args) == ["stage_first", "stage_second", "named"]
    part = allo.customize(stage, instantiate=[int32, 4])
    part.unroll("i")
    schedule.compose(part, id="second")
    first, second = str(schedule.module).split("func.func")[1:3]
    assert "unroll" in second and "unroll" not in first
