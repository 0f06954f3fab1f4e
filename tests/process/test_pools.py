"""Processes made by fork and by spawn, before and after a build."""

from __future__ import annotations

from pathlib import Path

import pytest

from .programs import run

POOL = """
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

method, target = sys.argv[1:]
options = dict(simulator="jit") if target == "verilog" else {}

def gemm(A: int32[4, 4], B: int32[4, 4]) -> int32[4, 4]:
    C: int32[4, 4] = 0
    for i, j in allo.grid(4, 4):
        for k in allo.reduction(4):
            C[i, j] += A[i, k] * B[k, j]
    return C

def wrong(x: int32) -> int32:
    return x + undefined

def point(factor):
    s = allo.customize(gemm)
    s.unroll("k", factor=factor)
    a = np.arange(16, dtype=np.int32).reshape(4, 4) * factor
    return np.array_equal(s.build(target=target, **options)(a, a), a @ a)

def mistake(_):
    allo.customize(wrong)

if __name__ == "__main__":
    print(point(1))
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        print(list(pool.map(point, (1, 2, 4))))
        try:
            pool.submit(mistake, 0).result()
        except allo.errors.UnknownNameError as error:
            print(error.message, error.place.line > 0, error.help)
    print(point(2))
"""


@pytest.mark.parametrize("target", ["llvm", "vhls", "verilog"])
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_pool_of_a_process_that_has_built(
    method: str, target: str, tmp_path: Path
) -> None:
    ended = run(tmp_path, POOL, method, target)
    assert ended.status == 0, ended.err
    assert ended.lines == [
        "True",
        "[True, True, True]",
        "The name 'undefined' is not defined. True assign it first, make it an argument, or define "
        "it where the kernel is defined.",
        "True",
    ], ended.err


FORK = """
import os
import sys

def k(A: int32[4, 4]) -> int32[4, 4]:
    B: int32[4, 4] = 0
    for i, j in allo.grid(4, 4):
        B[i, j] = A[i, j] * 3
    return B

A = np.arange(16, dtype=np.int32).reshape(4, 4)
schedule = allo.customize(k)
mods = [schedule.build(), schedule.build(target="vhls"),
        schedule.build(target="verilog", simulator="jit")]
right = lambda: [np.array_equal(mod(A), A * 3) for mod in mods]
print("parent", right(), flush=True)
child = os.fork()
if child == 0:
    print("child", right())
    schedule.pipeline("j")
    again = schedule.build(target="verilog", simulator="jit")
    print("child", np.array_equal(again(A), A * 3), flush=True)
    os._exit(0)
_, status = os.waitpid(child, 0)
print("parent", right(), status)
"""


def test_what_was_built_before_a_fork_runs_on_both_sides(tmp_path: Path) -> None:
    ended = run(tmp_path, FORK)
    assert ended.status == 0, ended.err
    assert ended.lines == [
        "parent [True, True, True]",
        "child [True, True, True]",
        "child True",
        "parent [True, True, True] 0",
    ], ended.err


ABORT = """
from allo.backend.rtl.circt import _worker, in_circt, export_verilog
from allo.errors import BuildError

try:
    in_circt("os:abort")
except BuildError as error:
    print(error.message)
try:
    export_verilog("hw.module @m(")
except BuildError as error:
    print(error.message.split(":")[0])
good = "hw.module @m(in %a: i1, out b: i1) { hw.output %a : i1 }"
print("module m" in export_verilog(good))
_worker()._process.kill()
_worker()._process.wait()
print("module m" in export_verilog(good))
"""


def test_an_abort_of_circt_is_an_exception_and_the_next_request_is_served(tmp_path: Path) -> None:
    ended = run(tmp_path, ABORT)
    assert ended.status == 0, ended.err
    assert ended.lines == [
        "CIRCT was ended by signal SIGABRT while it worked on the design.",
        "export_verilog failed with MLIRError",
        "True",
        "True",
    ], ended.err
