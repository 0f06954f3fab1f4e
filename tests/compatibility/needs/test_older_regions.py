"""Programs of an older dataflow interface are refused with the lines they become."""

from __future__ import annotations

import numpy as np
import pytest

import allo.dataflow as df
from allo.errors import DataflowError
from allo.ir.types import Stream, int32


def refused(region) -> DataflowError:
    with pytest.raises(DataflowError) as caught:
        df.customize(region)
    return caught.value


def test_a_kernel_without_args():
    @df.region()
    def top(A: int32[8], B: int32[8]):
        @df.kernel(mapping=[2])
        def k(A: int32[8], B: int32[8]):
            B[0] = A[0]

    error = refused(top)
    assert error.message == (
        "'args' length mismatch: df.kernel 'k' has 2 parameters, but args= names 0. "
        "In an older interface a kernel took arrays of its own."
    )
    assert error.help == (
        "write @df.kernel(mapping=[2], args=[A, B]), which names one array of the region for each "
        "parameter."
    )
    assert error.place.line == test_a_kernel_without_args.__code__.co_firstlineno + 3


def test_a_kernel_whose_arrays_no_region_has():
    @df.region()
    def top():
        @df.kernel(mapping=[2, 2])
        def k(A: int32[8], B: int32[4, 8]):
            B[0, 0] = A[0]

    assert refused(top).help.endswith(
        "and give the region the arrays: def top(A: int32[8], B: int32[4, 8])."
    )


def test_the_rewritten_kernel_runs():
    @df.region()
    def top(A: int32[8], B: int32[8]):
        pipe: Stream[int32, 4]

        @df.kernel(mapping=[1], args=[A])
        def send(A: int32[8]):
            for i in range(8):
                pipe.put(A[i])

        @df.kernel(mapping=[1], args=[B])
        def receive(B: int32[8]):
            for i in range(8):
                B[i] = pipe.get()

    a, b = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    df.build(top, target="simulator")(a, b)
    np.testing.assert_array_equal(a, b)


def test_a_kernel_without_a_mapping():
    @df.region()
    def top(A: int32[8], B: int32[8]):
        @df.kernel
        def k(A: int32[8], B: int32[8]):
            B[0] = A[0]

    error = refused(top)
    assert error.message.startswith("Missing kernel mapping: the df.kernel 'k' is missing")
    assert error.help == "write @df.kernel(mapping=[1], args=[A, B]) for a single instance."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pipe = df.pipe(dtype=int32, shape=(), depth=4)", "pipe: Stream[int32, 4]"),
        ("pipe = df.pipe(int32, (4, 8), 4)", "pipe: Stream[int32[4, 8], 4]"),
        ("pipe = df.pipe(dtype=int32, shape=())", "pipe: Stream[int32, 2]"),
        (
            "pipe = df.array(df.pipe(dtype=int32, shape=(), depth=4), shape=[P, P + 1])",
            "pipe: Stream[int32, 4][P, P + 1]",
        ),
    ],
)
def test_a_pipe(text, expected, tmp_path):
    source = tmp_path / "older.py"
    source.write_text(
        "import allo.dataflow as df\nfrom allo.ir.types import int32\nP = 2\n"
        f"@df.region()\ndef top(A: int32[8]):\n    {text}\n"
    )
    space: dict = {}
    exec(compile(source.read_text(), str(source), "exec"), space)
    error = refused(space["top"])
    assert error.message.endswith("is of an older dataflow interface.")
    assert error.help == f"write {expected}"
    assert error.place is not None
    assert error.place.line == 6


def test_a_kernel_without_a_region():
    @df.kernel(mapping=[4])
    def k(A: int32[8], B: int32[8]):
        B[0] = A[0]

    with pytest.raises(DataflowError) as caught:
        df.build(k, target="simulator")
    assert caught.value.message == "k is a df.kernel by itself, as in an older interface."
    assert "@df.kernel(mapping=[4], args=[A, B]) above def k." in caught.value.help


def test_a_bare_kernel_without_a_region():
    with pytest.raises(DataflowError) as caught:

        @df.kernel
        def k(A: int32[8]):
            A[0] = 1

    assert caught.value.message == "The kernel k has no mapping, and stands in no region."
    assert "@df.kernel(mapping=[1], args=[A])" in caught.value.help
