"""Kernel instances that share a function: a primitive that names one means that one."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import UnknownHandleError
from allo.ir.types import int32
from tests.engine import engine

N, K = 18, 8
A = np.arange(N * K, dtype=np.int32).reshape(N, K)


@df.region()
def top(A: int32[N, K], B: int32[N, K]):
    @df.kernel(mapping=[N], args=[A, B])
    def core(a: int32[N, K], b: int32[N, K]):
        p = df.get_pid()
        buf: int32[K]
        for i in range(K, name="fill"):
            buf[i] = a[p, i] + 1
        for i in range(K, name="drain"):
            b[p, i] = buf[i] * 2


def functions(s: allo.customize) -> list[str]:
    return [part.split("(")[0] for part in str(s.module).split("func.func @")[1:]]


def check(s: allo.customize) -> None:
    for target in ("llvm", "vhls", "verilog"):
        B = np.zeros_like(A)
        s.build(target=target, **engine(target))(A, B)
        np.testing.assert_array_equal(B, (A + 1) * 2, err_msg=target)


def test_one_that_is_named_gets_a_function_of_its_own():
    s = df.customize(top)
    assert functions(s) == ["core_0", "top"]
    s.pipeline(s.get_loops("core_7").drain.i)
    s.partition("core_7:buf", dim=1)
    assert functions(s) == ["core_7", "core_0", "top"]
    assert str(s.module).count("pipeline_ii") == 1
    code = s.build(target="vhls").hls_code
    assert "core_7(A, B, 7)" in code and "core_0(A, B, 8)" in code
    assert s.func_args["core_7"] == s.func_args["core_0"]
    check(s)


def test_the_same_for_all_is_done_once():
    s = df.customize(top)
    for p in range(N):
        s.partition(f"core_{p}:buf", dim=1)
        s.unroll(s.get_loops(f"core_{p}").fill.i, factor=2)
    assert functions(s) == ["core_0", "top"]
    assert str(s.module).count("unroll = 2") == 1
    check(s)


def test_different_ones_keep_what_the_function_had():
    s = df.customize(top)
    s.pipeline(s.get_loops("core_0").fill.i)
    for p, factor in ((3, 2), (9, 4)):
        s.unroll(s.get_loops(f"core_{p}").drain.i, factor=factor)
    assert functions(s) == ["core_3", "core_9", "core_0", "top"]
    text = str(s.module)
    assert text.count("pipeline_ii = 1") == 3
    assert text.count("unroll = 2") == text.count("unroll = 4") == 1
    check(s)


def test_a_mistake_leaves_the_function_shared():
    s = df.customize(top)
    before, known = str(s.module), list(s.func_args)
    with pytest.raises(UnknownHandleError, match="loop j"):
        s.pipeline("core_7:j")
    with pytest.raises(UnknownHandleError, match=r"Function core_18 not found\."):
        s.pipeline("core_18:i")
    assert str(s.module) == before and list(s.func_args) == known
