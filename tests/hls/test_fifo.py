"""Arrays made FIFOs by ``to``, and arrays of any length, in HLS C++."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.errors import ScheduleError
from allo.ir.types import Fixed, float32, int32, uint8


def produce(A: uint8[10]) -> uint8[10]:
    B: uint8[10]
    for i in range(10):
        B[i] = A[i] + 1
    return B


def consume(B: uint8[10]) -> uint8[10]:
    C: uint8[10]
    for i in range(10):
        C[i] = B[i] * 2
    return C


def chain(A: uint8[10]) -> uint8[10]:
    X = produce(A)
    return consume(X)


def nests(A: Fixed(12, 4)[3, 4]) -> Fixed(12, 4)[3, 4]:
    B: Fixed(12, 4)[3, 4]
    for i, j in allo.grid(3, 4, name="P"):
        B[i, j] = A[i, j] + 1
    C: Fixed(12, 4)[3, 4]
    for i, j in allo.grid(3, 4, name="Q"):
        C[i, j] = B[i, j] * 2
    return C


def test_a_fifo_between_calls_is_written_and_read():
    s = allo.customize(chain)
    s.to(s.X, "consume", depth=2)
    mod = s.build("vhls")
    for line in (
        "hls::stream< uint8_t >& B",
        "B.write(",
        " = B.read();",
        "hls::stream< uint8_t > X;",
        "#pragma HLS stream variable=X depth=2",
        "#pragma HLS dataflow",
        "produce(A, X);",
    ):
        assert line in mod.hls_code
    A = np.random.default_rng(0).integers(0, 256, 10).astype(np.uint8)
    np.testing.assert_array_equal(mod(A), (A + 1) * 2)


def test_a_fifo_of_a_partitioned_array_has_no_partition():
    s = allo.customize(chain)
    s.partition(s.X, partition_type=allo.Partition.Cyclic, dim=1, factor=2)
    assert "array_partition" in s.build("vhls").hls_code
    s.to(s.X, "consume", depth=2)
    mod = s.build("vhls")
    assert "array_partition" not in mod.hls_code and "B.write(" in mod.hls_code
    A = np.random.default_rng(0).integers(0, 256, 10).astype(np.uint8)
    np.testing.assert_array_equal(mod(A), (A + 1) * 2)


def test_a_fifo_between_nests_holds_the_array_and_any_type(tmp_path):
    s = allo.customize(nests)
    s.to(s.B, "Q")
    A = np.random.default_rng(1).integers(-900, 900, (3, 4)) / 16
    mod = s.build("vhls")
    assert "#pragma HLS stream variable=B depth=12" in mod.hls_code
    expected = allo.customize(nests).build()(A)
    np.testing.assert_array_equal(mod(A), expected)
    wrapped = s.build("vitis_hls", mode="csim", project=str(tmp_path / "top.prj"))
    np.testing.assert_array_equal(wrapped(A), expected)


def kept(A: int32[4], X: int32[4], C: int32[4]) -> int32[4]:
    Y: int32[4]
    for i in allo.grid(4, name="P"):
        X[i] = A[i] + 1
        Y[i] = A[i]
    for i in allo.grid(4, name="Q"):
        C[i] = X[i] + Y[i]
    return Y


def test_what_a_caller_sees_cannot_be_a_fifo():
    s = allo.customize(kept)
    with pytest.raises(ScheduleError, match="to X: it is an argument of kept, and a FIFO is empty"):
        s.to(s.X, "Q")
    with pytest.raises(ScheduleError, match="to Y: it is returned by kept"):
        s.to(s.Y, "Q")


def shared(A: int32[6], C: int32[6], D: int32[6], E: int32[6]):
    X: int32[6]
    for i in allo.grid(6, name="P"):
        X[i] = A[i] + 1
    for i in allo.grid(6, name="Q"):
        C[i] = X[i] * 2
    for i in allo.grid(6, name="R"):
        D[i] = X[i] * 3
    for i in allo.grid(6, name="S"):
        E[i] = X[5 - i]


def test_each_of_several_consumers_gets_its_fifo():
    s = allo.customize(shared)
    s.to(s.X, "Q", depth=2)
    s.to(s.X, "R", depth=3)
    mod = s.build("vhls")
    assert "variable=X_Q depth=2" in mod.hls_code and "variable=X_R depth=3" in mod.hls_code
    A = np.random.default_rng(3).integers(-9, 9, 6).astype(np.int32)
    for module in (mod, s.build()):
        C, D, E = (np.zeros(6, np.int32) for _ in range(3))
        module(A, C, D, E)
        np.testing.assert_array_equal(C, (A + 1) * 2)
        np.testing.assert_array_equal(D, (A + 1) * 3)
        np.testing.assert_array_equal(E, (A + 1)[::-1])
    before = str(s.module)
    with pytest.raises(
        ScheduleError, match="to X: the consumer reads its elements in another order"
    ):
        s.to(s.X, "S")
    assert str(s.module) == before


def scaled(A: float32[...], B: float32[...], size: int32):
    for i in range(size):
        B[i] = A[i] * 2.0


def outer(A: float32[...], B: float32[...], size: int32):
    scaled(A, B, size)


@pytest.mark.parametrize("kernel", [scaled, outer])
def test_an_array_of_any_length_is_a_pointer(kernel, tmp_path):
    s = allo.customize(kernel)
    A = np.random.default_rng(2).random(9).astype(np.float32)
    plain = s.build("vhls")
    wrapped = s.build("vitis_hls", mode="csim", project=str(tmp_path / "top.prj"))
    for mod in (plain, wrapped, s.build()):
        B = np.zeros(9, np.float32)
        mod(A, B, 9)
        np.testing.assert_array_equal(B, A * 2)
    assert "float *A," in plain.hls_code and "buf0" not in wrapped.hls_code
