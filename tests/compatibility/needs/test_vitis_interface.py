"""The ports of a Vitis kernel: outputs before inputs, and nested functions of an unwrapped top."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import UnsupportedOpError
from allo.ir.types import Fixed, Stream, float32, int32

A = np.arange(16, dtype=np.int32).reshape(4, 4)


def first(C: int32[4, 4], A: int32[4, 4], B: int32[4, 4]):
    for i, j in allo.grid(4, 4):
        C[i, j] = A[i, j] - B[i, j]


def between(A: int32[4, 4], C: int32[4, 4], n: int32, D: int32[4, 4], B: int32[4, 4]):
    for i, j in allo.grid(4, 4):
        C[i, j] = A[i, j] + B[i, j] * n
        D[i, j] += B[i, j]


def returned(C: float32[4], x: float32[4]) -> float32[4]:
    y: float32[4]
    for i in range(4):
        C[i] = x[i] * 2.0
        y[i] = x[i] + 1.0
    return y


def vitis(kernel, mode="csim", **more):
    return allo.customize(kernel).build("vitis_hls", mode=mode, **more)


@pytest.mark.parametrize("wrap_io", [True, False])
def test_an_output_before_its_inputs(wrap_io, tmp_path):
    C, B = np.zeros_like(A), A * A
    vitis(first, project=str(tmp_path / "p"), wrap_io=wrap_io)(C, A, B)
    np.testing.assert_array_equal(C, A - B)


@pytest.mark.parametrize("wrap_io", [True, False])
def test_outputs_between_inputs_and_scalars(wrap_io):
    C, D = np.zeros_like(A), np.ones_like(A)
    vitis(between, wrap_io=wrap_io)(A, C, 3, D, A.T.copy())
    np.testing.assert_array_equal(C, A + A.T * 3)
    np.testing.assert_array_equal(D, A.T + 1)


@pytest.mark.parametrize("wrap_io", [True, False])
def test_an_output_before_an_input_beside_a_result(wrap_io):
    C, x = np.zeros(4, np.float32), np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(vitis(returned, wrap_io=wrap_io)(C, x), x + 1)
    np.testing.assert_array_equal(C, x * 2)


@pytest.mark.parametrize("mode", [None, "csyn", "hw_emu", "hw"])
def test_a_host_program_wants_its_outputs_at_the_end(mode):
    with pytest.raises(RuntimeError) as caught:
        vitis(first, mode=mode)
    assert str(caught.value).startswith(
        "Output arguments must appear at the end: C is written, and B behind it is only read.\n"
    )
    assert vitis(first, mode=mode, configs={"num_output_args": 1}).num_output_args == 1


def bump(X: int32[4, 4], Y: int32[4, 4]):
    for i, j in allo.grid(4, 4):
        Y[i, j] = X[i, j] + 1


def deeper(X: int32[4, 4], Y: int32[4, 4]):
    bump(X, Y)


def made(X: int32[4, 4]) -> int32[4, 4]:
    Y: int32[4, 4]
    bump(X, Y)
    return Y


def chain(A: int32[4, 4], B: int32[4, 4]):
    T: int32[4, 4]
    bump(A, T)
    bump(T, B)


def layers(A: int32[4, 4], B: int32[2, 4, 4]) -> int32[4, 4]:
    T: int32[4, 4]
    deeper(A, T)
    deeper(T, B[1])
    C = made(B[1])
    D = made(C)
    return D


def halves(X: Fixed(12, 4)[2, 3]) -> Fixed(12, 4):
    total: Fixed(12, 4) = 0
    for i, j in allo.grid(2, 3):
        total += X[i, j]
    return total


def sums(X: Fixed(12, 4)[2, 3], Y: Fixed(12, 4)[2, 3]) -> Fixed(12, 4)[2]:
    Z: Fixed(12, 4)[2]
    Z[0] = halves(X)
    Z[1] = halves(Y)
    return Z


def test_nested_functions_of_an_unwrapped_top():
    B = np.zeros_like(A)
    mod = vitis(chain, wrap_io=False)
    mod(A, B)
    np.testing.assert_array_equal(B, A + 2)
    assert "load_buf" not in mod.hls_code
    assert "Y[(i) * 4 + (j)]" in mod.hls_code


def test_functions_below_nested_ones_and_their_results():
    B = np.zeros((2, 4, 4), np.int32)
    np.testing.assert_array_equal(vitis(layers, wrap_io=False)(A, B), A + 4)
    np.testing.assert_array_equal(B, [np.zeros_like(A), A + 2])


def test_a_nested_function_that_gets_flat_arrays_only_stays_one():
    x, y = np.arange(6.0).reshape(2, 3) / 4, np.ones((2, 3)) * -0.5
    mod = vitis(sums, wrap_io=False)
    np.testing.assert_array_equal(mod(x, y), [x.sum(), -3.0])
    assert mod.hls_code.count("void halves") == 1


@df.region()
def staged(a: int32[4, 4], b: int32[4, 4]):
    pipe: Stream[int32, 4]

    @df.kernel(mapping=[1], args=[a])
    def send(x: int32[4, 4]):
        for i, j in allo.grid(4, 4):
            pipe.put(x[i, j])

    @df.kernel(mapping=[1], args=[b])
    def receive(y: int32[4, 4]):
        z: int32[4, 4]
        for i, j in allo.grid(4, 4):
            z[i, j] = pipe.get()
        bump(z, y)


def test_kernels_of_an_unwrapped_region(tmp_path):
    B = np.zeros_like(A)
    df.build(staged, wrap_io=False, project=str(tmp_path / "p"))(A, B)
    np.testing.assert_array_equal(B, A + 1)


def test_external_functions_take_no_flat_array(tmp_path):
    source = tmp_path / "twice.cpp"
    source.write_text("void twice(int a[4][4], int b[4][4]) { b[0][0] = a[0][0] * 2; }")
    twice = allo.IPModule(top="twice", impl=str(source), link_hls=False)

    def outside(A: int32[4, 4], B: int32[4, 4]):
        twice(A, B)

    s = allo.customize(outside)
    with pytest.raises(UnsupportedOpError) as caught:
        s.build("vitis_hls", wrap_io=False)
    assert caught.value.message == (
        "Failed to emit HLS code: the array A of 2 dimensions is a flat pointer in the top "
        "function and cannot be passed to another function."
    )
    assert caught.value.help is not None
    assert "wrap_io=True" in caught.value.help
