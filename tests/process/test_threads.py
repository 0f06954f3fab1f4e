"""Building and running in threads: every answer is right and the interpreter lives."""

from __future__ import annotations

from pathlib import Path

import pytest

from .programs import run

SWEEP = """
import sys
from concurrent.futures import ThreadPoolExecutor

target = sys.argv[1]
options = dict(simulator="jit") if target == "verilog" else {}

def gemm(A: int32[8, 8], B: int32[8, 8]) -> int32[8, 8]:
    C: int32[8, 8] = 0
    for i, j in allo.grid(8, 8):
        for k in allo.reduction(8):
            C[i, j] += A[i, k] * B[k, j]
    return C

def point(factor):
    s = allo.customize(gemm)
    s.unroll("k", factor=factor)
    s.pipeline("j")
    a = np.arange(64, dtype=np.int32).reshape(8, 8) * factor
    return np.array_equal(s.build(target=target, **options)(a, a), a @ a)

if len(sys.argv) > 2:
    print(point(1))
with ThreadPoolExecutor(4) as pool:
    for right in pool.map(point, (1, 2, 4, 8)):
        print(right)
print("end")
"""


@pytest.mark.parametrize("target", ["llvm", "verilog", "vhls"])
def test_a_sweep_in_a_thread_pool(target: str, tmp_path: Path) -> None:
    ended = run(tmp_path, SWEEP, target)
    assert (ended.status, ended.lines) == (0, ["True"] * 4 + ["end"]), ended.err


def test_a_sweep_in_threads_after_a_build_in_the_main_one(tmp_path: Path) -> None:
    ended = run(tmp_path, SWEEP, "verilog", "first")
    assert (ended.status, ended.lines) == (0, ["True"] * 5 + ["end"]), ended.err


FLOATS = """
import threading

def k(A: float32[4, 4], B: float32[4, 4]) -> float32[4, 4]:
    C: float32[4, 4] = 0
    for i, j in allo.grid(4, 4):
        for q in range(4):
            C[i, j] += A[i, q] * B[q, j]
    return C

F = np.arange(16, dtype=np.float32).reshape(4, 4)
gate = threading.Barrier(4)
right = []

def work(number):
    gate.wait()
    mod = allo.customize(k).build(target="verilog", simulator="jit")
    right.append((number, np.array_equal(mod(F, F), F @ F)))

threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
for number, same in sorted(right):
    print(number, same)
"""


def test_the_first_builds_of_a_process_at_once(tmp_path: Path) -> None:
    """The operator registry was filled by the first of them, and seen half full by the others."""
    ended = run(tmp_path, FLOATS)
    assert ended.status == 0, ended.err
    assert ended.lines == [f"{n} True" for n in range(4)], ended.err


SHARED = """
import sys
import threading

options, calls = {
    "cpu": ({}, 400),
    "csim": (dict(target="vhls"), 100),
    "rtl": (dict(target="verilog", simulator="jit"), 200),
}[sys.argv[1]]

def k(A: int32[8], n: int32) -> int32:
    count: int32 @ Stateful = 0
    s: int32 = 0
    for i in range(8):
        s += A[i] * n
    count += 1
    return s * 0 + count if n < 0 else s

A = np.arange(8, dtype=np.int32)
mod = allo.customize(k).build(**options)
wrong = []

def work(thread):
    for call in range(calls):
        n = thread * 1000 + call
        if mod(A, n) != 28 * n:
            wrong.append((thread, call))

sys.setswitchinterval(1e-5)
threads = [threading.Thread(target=work, args=(t,)) for t in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print(len(wrong), mod(A, -1))
"""


@pytest.mark.parametrize(("target", "calls"), [("cpu", 400), ("csim", 100), ("rtl", 200)])
def test_one_module_called_by_four_threads(target: str, calls: int, tmp_path: Path) -> None:
    """Every answer is that of its own arguments, and no call is lost by a stateful variable."""
    ended = run(tmp_path, SHARED, target)
    assert (ended.status, ended.lines) == (0, [f"0 {4 * calls + 1}"]), ended.err
