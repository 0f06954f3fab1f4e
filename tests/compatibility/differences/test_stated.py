"""Deliberate differences from the published language: said by the error and by the docs in the same words."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.customize import Partition, Schedule
from allo.dialects.text import differences
from allo.errors import (
    AlloError,
    CompileTimeError,
    PartitionError,
    ScheduleError,
    ShapeMismatchError,
    SignatureMismatchError,
)
from allo.ir.types import Stream, float32, int8, int16, int32
from tests.compatibility.everywhere import EVERYWHERE, build

DOCS = Path(__file__).resolve().parents[3] / "docs" / "coming_from.md"


def fill(A: int32[8], B: int32[8]):
    for i in range(8):
        B[i] = A[i]


def caller(A: int32[8], B: int32[8]):
    fill(A, B)


def read_behind_the_end() -> None:
    def kernel(A: int32[8]) -> int32:
        return A[8]

    allo.customize(kernel)


def write_a_row_behind_the_end() -> None:
    def kernel(A: float32[4, 8]):
        for j in range(8):
            A[4, j] = 0

    allo.customize(kernel)


def read_before_the_start() -> None:
    @df.region()
    def top(A: int32[4]):
        pipe: Stream[int32, 2]

        @df.kernel(mapping=[1], args=[A])
        def send(a: int32[4]):
            pipe.put(a[-5])

        @df.kernel(mapping=[1])
        def take():
            x: int32 = pipe.get()
            print(x)

    df.customize(top)


def cyclic_without_factor() -> None:
    s = allo.customize(fill)
    s.partition(s.A, partition_type=Partition.Cyclic, dim=1)


def block_without_factor() -> None:
    s = allo.customize(fill)
    s.partition(s.B, partition_type=Partition.Block)


def factor_of_nothing_through_a_name() -> None:
    allo.customize(caller).partition("fill:A", Partition.Cyclic, dim=1, factor=0)


def types_for_a_plain_kernel() -> None:
    allo.customize(fill, instantiate=[int32, 8])


def brackets_for_a_plain_kernel() -> None:
    def kernel(A: int32[8], B: int32[8]):
        fill[int32](A, B)

    allo.customize(kernel)


def one_value_for_a_region() -> None:
    @df.region()
    def top(A: int32[4]):
        @df.kernel(mapping=[1], args=[A])
        def one(a: int32[4]):
            a[0] = 1

    allo.customize(top, instantiate=[4])


def schedule_of(dtype, extent: int) -> Schedule:
    def fill(A: dtype[extent], B: dtype[extent]):
        for i in range(extent):
            B[i] = A[i]

    s = allo.customize(fill)
    s.pipeline("i")
    return s


def compose_other_types() -> None:
    allo.customize(caller).compose(schedule_of(int16, 8))


def compose_other_shapes() -> None:
    allo.customize(caller).compose(schedule_of(int32, 16))


def compose_other_arguments() -> None:
    def fill(A: int32[8]):
        for i in range(8):
            A[i] = 0

    allo.customize(caller).compose(allo.customize(fill))


def verify_other_types() -> None:
    allo.verify(schedule_of(int32, 8), schedule_of(int8, 8))


def verify_other_shapes() -> None:
    allo.verify(schedule_of(int32, 8), schedule_of(int32, 4))


def verify_other_results() -> None:
    def returned(A: int32[8], B: int32[8]) -> int32:
        fill(A, B)
        return B[0]

    allo.verify(allo.customize(fill), allo.customize(returned))


CASES: list[tuple[Callable[[], None], type[AlloError], str]] = [
    (read_behind_the_end, ShapeMismatchError, differences.SUBSCRIPT),
    (write_a_row_behind_the_end, ShapeMismatchError, differences.SUBSCRIPT),
    (read_before_the_start, ShapeMismatchError, differences.SUBSCRIPT),
    (cyclic_without_factor, PartitionError, differences.FACTOR),
    (block_without_factor, PartitionError, differences.FACTOR),
    (factor_of_nothing_through_a_name, PartitionError, differences.FACTOR),
    (types_for_a_plain_kernel, CompileTimeError, differences.INSTANTIATE),
    (brackets_for_a_plain_kernel, CompileTimeError, differences.INSTANTIATE),
    (one_value_for_a_region, CompileTimeError, differences.INSTANTIATE),
    (compose_other_types, ScheduleError, differences.COMPOSE),
    (compose_other_shapes, ScheduleError, differences.COMPOSE),
    (compose_other_arguments, ScheduleError, differences.COMPOSE),
    (verify_other_types, SignatureMismatchError, differences.VERIFY),
    (verify_other_shapes, SignatureMismatchError, differences.VERIFY),
    (verify_other_results, SignatureMismatchError, differences.VERIFY),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].__name__)
def test_the_error_says_that_it_is_on_purpose(case) -> None:
    program, kind, text = case
    with pytest.raises(kind) as caught:
        program()
    lines = str(caught.value).splitlines()
    assert f"note: {text}" in lines
    assert lines[-1].startswith("help: ") or any(line.startswith("help: ") for line in lines)


def test_the_docs_say_the_same() -> None:
    docs = DOCS.read_text()
    texts = [v for k, v in vars(differences).items() if k.isupper()]
    assert len(texts) == 5
    for text in texts:
        said = text.removeprefix("on purpose: the published Allo ").removesuffix(".")
        assert said != text and f"| {said} |" in docs


def argument(A: int32[4]) -> int32[4]:
    A[0] = 5
    return A


def row(A: int32[2, 4]) -> int32[4]:
    return A[1]


def used_inside(A: int32[4], B: int32[4]):
    C: int32[4] = argument(A)
    C[1] = 77
    B[:] = C


@pytest.mark.parametrize("target", ["cpu", "csim", "jit", "interpret"])
@pytest.mark.parametrize(("kernel", "shape"), [(argument, (4,)), (row, (2, 4))])
def test_a_returned_argument_is_a_copy_in_python(
    kernel, shape: tuple[int, ...], target: str, tmp_path: Path
) -> None:
    a = np.arange(8, dtype=np.int32)[: int(np.prod(shape))].reshape(shape).copy()
    module = build(kernel, target, tmp_path)
    found = module(a)
    wanted = np.array([5, 1, 2, 3] if len(shape) == 1 else [4, 5, 6, 7], np.int32)
    np.testing.assert_array_equal(found, wanted)
    before = a.copy()
    found[2] = -9
    np.testing.assert_array_equal(a, before)
    a[..., 3] = -8
    assert found[3] == wanted[3]


@pytest.mark.parametrize("target", EVERYWHERE)
def test_a_returned_argument_is_a_copy_in_a_kernel(target: str, tmp_path: Path) -> None:
    a, b = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    build(used_inside, target, tmp_path)(a, b)
    assert a.tolist() == [5, 1, 2, 3]
    assert b.tolist() == [5, 77, 2, 3]
