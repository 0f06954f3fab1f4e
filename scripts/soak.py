"""Long use in one process: ``scripts/soak rounds`` for memory, ``scripts/soak threads`` for disturbances.

Rounds customise, build and call kernels, every one another, and print the resident memory; the
growth after a tenth of the rounds is what counts. Threads build and call at once, kernels of their
own and one they share, and compare every result. The exit status is 1 where memory grew past the
limit or a result was wrong.
"""

from __future__ import annotations

import argparse
import collections
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

import allo
from allo.ir.types import float32, int32

MEGABYTE = 1e6
PAGE = 4096
TARGETS: dict[str, dict[str, Any]] = {
    "cpu": {},
    "csim": {"target": "vhls"},
    "text": {"target": "vhls"},
    "jit": {"target": "verilog", "simulator": "jit"},
    "verilator": {"target": "verilog"},
}
TEXT = """
def kernel(A: int32[8, 8], n: int32) -> int32:
    B: int32[8, 8] = 0
    s: int32 = {number}
    for i, j in allo.grid(8, 8):
        B[i, j] = A[i, j] * n
    for p, q in allo.grid(8, 8):
        s += B[p, q]
    return s
"""
A = np.arange(64, dtype=np.int32).reshape(8, 8)
F = np.arange(16, dtype=np.float32).reshape(4, 4)


def resident_mb() -> float:
    """Resident memory of this process, in megabytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE / MEGABYTE


def build(number: int, target: str) -> Any:
    """Kernel ``number``, scheduled and built."""
    names = {"allo": allo, "int32": int32}
    schedule = allo.customize(TEXT.format(number=number), global_vars=names)
    schedule.pipeline("j")
    schedule.partition(schedule.B, dim=2)
    return schedule.build(**TARGETS[target])


def expected(number: int, n: int) -> int:
    return int(A.sum()) * n + number


def rounds(target: str, count: int, limit_mb: float, distinct: int) -> int:
    """Customise, build and call ``count`` times; memory may grow by ``limit_mb`` after the first tenth."""
    settled = max(1, count // 10)
    start = 0.0
    began = time.time()
    for done in range(1, count + 1):
        number = done % distinct
        module = build(number, target)
        if target != "text" and module(A, done) != expected(number, done):
            print(f"round {done}: a wrong result")
            return 1
        if target == "text":
            str(module)
        if done == settled:
            start = resident_mb()
        if done % settled == 0:
            print(
                f"{done:6d} rounds  {resident_mb():8.1f} MB  {time.time() - began:6.0f} s",
                flush=True,
            )
    grown = resident_mb() - start
    print(
        f"{target}: {grown:.1f} MB more after {count} rounds than after {settled} (limit {limit_mb:g})"
    )
    return int(grown > limit_mb)


def gemm(A: float32[4, 4], B: float32[4, 4]) -> float32[4, 4]:
    C: float32[4, 4] = 0
    for i, j in allo.grid(4, 4):
        for q in range(4):
            C[i, j] += A[i, q] * B[q, j]
    return C


def threads(target: str, seconds: float, count: int) -> int:
    """Build and call in ``count`` threads at once, for ``seconds``; the status is 1 for any difference."""
    shared = build(0, target)
    end = time.time() + seconds
    wrong: list[str] = []
    calls = collections.Counter[str]()

    def check(what: str, right: bool) -> None:
        calls[what] += 1
        if not right:
            wrong.append(what)

    def once(thread: int, turn: int) -> None:
        for step in range(10):
            n = thread * 1000 + step
            check("shared", shared(A, n) == expected(0, n))
        if turn % 2:
            schedule = allo.customize(gemm)
            schedule.pipeline("j")
            check("gemm", np.array_equal(schedule.build(**TARGETS[target])(F, F), F @ F))
            return
        number = (thread * 7 + turn) % 20
        check("kernels", build(number, target)(A, turn) == expected(number, turn))

    run(count, end, once, wrong)
    print(f"{target}: {dict(calls)} in {count} threads; wrong or failed: {len(wrong)}")
    for text, times in collections.Counter(wrong).most_common(5):
        print(f"  {times} x {text}")
    return int(bool(wrong))


def run(count: int, end: float, once: Callable[[int, int], None], wrong: list[str]) -> None:
    def work(thread: int) -> None:
        turn = 0
        while time.time() < end:
            try:
                once(thread, turn)
            except Exception:
                wrong.append(traceback.format_exc()[-400:])
            turn += 1

    workers = [threading.Thread(target=work, args=(thread,)) for thread in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__.split("\n")[0])
    modes = parser.add_subparsers(dest="mode", required=True)
    memory = modes.add_parser("rounds", help="customise, build and call again and again")
    memory.add_argument("--target", choices=TARGETS, default="cpu")
    memory.add_argument("--rounds", type=int, default=2000)
    memory.add_argument("--limit-mb", type=float, default=50.0)
    memory.add_argument(
        "--distinct", type=int, default=0, help="kernels that differ; all by default"
    )
    together = modes.add_parser("threads", help="build and call in threads at once")
    together.add_argument("--target", choices=TARGETS, default="cpu")
    together.add_argument("--seconds", type=float, default=60.0)
    together.add_argument("--threads", type=int, default=4)
    asked = parser.parse_args()
    if asked.mode == "rounds":
        distinct = asked.distinct or asked.rounds + 1
        return rounds(asked.target, asked.rounds, asked.limit_mb, distinct)
    return threads(asked.target, asked.seconds, asked.threads)


if __name__ == "__main__":
    sys.exit(main())
