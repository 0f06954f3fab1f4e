"""Catapult unrolls what is ``parallel``; processes with an empty body are not emitted."""

from __future__ import annotations

import re

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import UnknownHandleError
from allo.ir.types import Stream, int32
from tests.engine import engine


def shifted(A: int32[4, 8]) -> int32[4, 8]:
    B: int32[4, 8]
    for i, j in allo.grid(4, 8):
        B[i, j] = A[i, j] + j
    return B


def line_before(text: str, loop: str) -> str:
    lines = text.splitlines()
    head = next(n for n, line in enumerate(lines) if f"for (int {loop} = " in line)
    return lines[head - 1].strip()


def test_parallel_unrolls_in_catapult():
    s = allo.customize(shifted)
    s.parallel("j")
    text = str(s.build(target="catapult"))
    assert line_before(text, "j") == "#pragma hls_unroll yes"
    assert text.count("hls_unroll") == 1
    assert "unroll" not in str(s.build(target="vhls"))
    assert "unroll" not in str(s.build(target="vitis_hls", mode=None, wrap_io=False))


def test_parallel_and_a_factor_of_unroll_in_catapult():
    s = allo.customize(shifted)
    s.parallel("j")
    s.unroll("j", factor=4)
    s.parallel("i")
    text = str(s.build(target="catapult"))
    assert line_before(text, "j") == "#pragma hls_unroll 4"
    assert line_before(text, "i") == "#pragma hls_unroll yes"
    A = np.arange(32, dtype=np.int32).reshape(4, 8)
    for target in ("llvm", "catapult", "verilog"):
        np.testing.assert_array_equal(
            s.build(target=target, **engine(target))(A), A + np.arange(8), err_msg=target
        )


def test_parallel_of_a_callee_in_catapult():
    def outer(A: int32[4, 8]) -> int32[4, 8]:
        return shifted(A)

    inner = allo.customize(shifted)
    inner.parallel("i")
    inner.pipeline("j")
    s = allo.customize(outer)
    s.compose(inner)
    text = str(s.build(target="catapult"))
    assert line_before(text, "i") == "#pragma hls_unroll yes"
    assert line_before(text, "j") == "#pragma hls_pipeline_init_interval 1"
    with pytest.raises(UnknownHandleError, match="No such loop 'k'"):
        s.parallel("shifted:k")


@df.region()
def edges(A: int32[4, 4], B: int32[4, 4]):
    pipe: Stream[int32, 4][3, 3]

    @df.kernel(mapping=[3, 3], args=[A, B])
    def gemm(a: int32[4, 4], b: int32[4, 4]):
        i, j = df.get_pid()
        with allo.meta_if(i in {0, 2} and j in {0, 2}):
            pass
        with allo.meta_elif(i == 0):
            for k in range(4):
                pipe[1, 1].put(a[0, k])
        with allo.meta_elif(i == 1 and j == 1):
            for k in range(4):
                b[1, k] = pipe[1, 1].get()


@df.region()
def triangle(A: int32[4], B: int32[4]):
    @df.kernel(mapping=[3], args=[A, B])
    def gemm(a: int32[4], b: int32[4]):
        p = df.get_pid()
        for i in range(p):
            b[i + p] = a[i]


@df.region()
def middle(A: int32[4], B: int32[4]):
    @df.kernel(mapping=[3], args=[A, B])
    def gemm(a: int32[4], b: int32[4]):
        p = df.get_pid()
        for i in range(4):
            if a[i] > 0:
                with allo.meta_if(p == 1):
                    b[i] = a[i]


@df.region()
def part[P](x: int32[4], y: int32[4]):
    @df.kernel(mapping=[P], args=[x, y])
    def gemm(a: int32[4], b: int32[4]):
        p = df.get_pid()
        with allo.meta_if(p == 0):
            for i in range(4):
                b[i] = a[i] + 1


@df.region()
def whole(x: int32[4], y: int32[4]):
    @df.kernel(mapping=[2], args=[x, y])
    def gemm(a: int32[4], b: int32[4]):
        i = df.get_pid()
        with allo.meta_if(i == 1):
            part[3](a, b)


A1 = np.array([3, -1, 2, 5], np.int32)


@pytest.mark.parametrize(
    ("region", "kept", "expected"),
    [
        (triangle, {"gemm_1", "gemm_2"}, [0, 3, 3, -1]),
        (middle, {"gemm_1"}, [3, 0, 2, 5]),
        (whole, {"gemm_1", "gemm_0_part_3"}, [4, 0, 3, 6]),
    ],
)
def test_instances_with_nothing_in_them(region, kept, expected):
    text = str(df.build(region, target="vhls"))
    found = set(re.findall(r"^void (gemm\w*)\(", text, re.MULTILINE))
    assert len(found) == len(kept)
    for target in ("simulator", "vhls", "verilog"):
        B = np.zeros(4, np.int32)
        df.build(region, target=target, **engine(target))(A1, B)
        np.testing.assert_array_equal(B, expected, err_msg=target)


def test_the_corners_of_a_mesh():
    for target in ("vhls", "catapult", "verilog"):
        text = str(df.customize(edges).build(target=target))
        assert all(
            f"gemm_{corner}" not in text for corner in ("0_0", "0_2", "2_0", "2_2", "1_0", "2_1")
        )
        assert "gemm_1_1" in text
