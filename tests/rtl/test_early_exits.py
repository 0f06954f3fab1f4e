"""Loops that are left early: `break` and `return` stop them, and `while` loops overlap."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import BoundsError
from allo.ir.types import Stream, float32, int8, int32, uint8

SIZE = 1024
ENGINES = ["jit", "verilator"]


def search(A: int32[SIZE], key: int32) -> int32:
    at: int32 = -1
    for i in range(SIZE):
        if A[i] == key:
            at = i
            break
    return at


def returning(A: int32[SIZE], key: int32) -> int32:
    for i in range(SIZE):
        if A[i] == key:
            return i
    return -1


def scan(A: int32[SIZE], key: int32) -> int32:
    i: int32 = 0
    while A[i] != key:
        i += 1
    return i


def add_up(A: int32[SIZE], n: int32) -> int32:
    i: int32 = 0
    total: int32 = 0
    while i < SIZE:
        if A[i] == n:
            break
        total += A[i]
        i += 1
    return total


def doubled(A: int32[SIZE], key: int32, B: int32[SIZE]):
    """What stands behind the exit must not happen, and what stands before it must."""
    for i in range(SIZE):
        B[i] = A[i] * 2
        if A[i] == key:
            break
        B[SIZE - 1 - i] = i


def copied(A: int32[SIZE], key: int32, B: int32[SIZE]) -> int32:
    i: int32 = 0
    while A[i] != key:
        B[i] = A[i] * 2
        i += 1
    return i


def marked(A: int32[SIZE], key: int32, B: int32[SIZE]):
    """The store is ready long before the exit is known."""
    for i in range(SIZE):
        B[i] = i
        if A[i] * A[i] == key * key:
            break


def then_used(A: int32[SIZE], key: int32, B: int32[SIZE]) -> int32:
    """What the loop leaves is read long after its end."""
    i: int32 = 0
    while A[i] != key:
        i += 1
    for j in range(16):
        B[j] += i
    return i


def built(kernel, *loops: str, **options):
    s = allo.customize(kernel)
    for loop in loops:
        s.pipeline(loop)
    return s.build(target="verilog", **options)


@pytest.mark.parametrize(
    "kernel,loops,engine",
    [
        (search, "i", "jit"),
        (search, "i", "verilator"),
        (search, "", "jit"),
        (returning, "i", "jit"),
        (scan, "", "jit"),
        (scan, "", "verilator"),
        (add_up, "", "jit"),
    ],
    ids=lambda value: getattr(value, "__name__", value or "serial"),
)
def test_a_search_ends_where_it_hits(kernel, loops: str, engine: str):
    values = np.arange(SIZE, dtype=np.int32) + 5
    module = built(kernel, *loops, simulator=engine)
    for hit in (0, 1, 10, 500, SIZE - 1):
        expected = values[:hit].sum() if kernel is add_up else hit
        assert module(values, hit + 5) == expected
        interval = 1 if loops or kernel in (scan, add_up) else 2
        # a sum that is chained to the word of a memory takes a cycle of its own
        assert module.cycles == interval * hit + (6 if kernel is add_up else 5)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "kernel,loops",
    [
        (doubled, "i"),
        (doubled, ""),
        (marked, "i"),
        (copied, ""),
        (then_used, ""),
    ],
    ids=lambda value: getattr(value, "__name__", value or "serial"),
)
def test_nothing_is_stored_behind_the_exit(kernel, loops: str, engine: str):
    values = np.random.default_rng(1).permutation(SIZE).astype(np.int32)
    module, cpu = built(kernel, *loops, simulator=engine), allo.customize(kernel).build()
    for hit in (0, 1, 2, 3, 77, SIZE - 1):
        expected, got = np.full((2, SIZE), -7, np.int32)
        results = cpu(values, values[hit], expected), module(values, values[hit], got)
        assert results[0] == results[1]
        assert np.array_equal(expected, got)


def twice(A: int32[4, 64], keys: int32[4], B: int32[4], C: int32[4, 64]):
    """Inner loops that end early start anew."""
    for r in range(4):
        at: int32 = 0
        for i in range(64):
            if A[r, i] == keys[r]:
                break
            at += A[r, i]
            C[r, i] = at
        B[r] = at


def pair(A: int32[64], total: int32) -> int32:
    for i in range(64):
        for j in range(i, 64):
            if A[i] + A[j] == total:
                return i * 64 + j
    return -1


def passes(A: int32[64], most: int32) -> int32:
    """Passes over an array until one changes nothing; the next call starts anew."""
    count: int32 = 0
    for t in range(most):
        changed: int32 = 0
        for i in range(63):
            if A[i] > A[i + 1]:
                low: int32 = A[i + 1]
                A[i + 1] = A[i]
                A[i] = low
                changed = 1
        count += 1
        if changed == 0:
            break
    return count


def collatz(n: int32, seen: int32[64]) -> int32:
    x: int32 = n
    steps: int32 = 0
    while x != 1:
        seen[steps & 63] = x
        if x & 1 == 1:
            x = 3 * x + 1
        else:
            x = x // 2
        steps += 1
    return steps


def wandering(A: uint8[256], B: int32[256]) -> int32:
    """The next subscript is read from memory, and a store decides when it ends."""
    at: uint8 = 0
    count: int32 = 0
    while B[at] == 0:
        B[at] = count + 1
        at = A[at]
        count += 1
    return count


def sums(A: int32[64], B: int32[64], n: int32) -> int32:
    """The total is the last operand of the tree that its terms make."""
    total: int32 = 0
    i: int32 = 0
    while A[i] != n:
        total = total + A[i] + B[i] * A[i] + (A[i] + 3) * 7 + B[i]
        i += 1
    return total


def root(x: float32) -> float32:
    guess: float32 = x
    turns: int32 = 0
    while turns < 20 and (guess * guess - x > 0.001 or x - guess * guess > 0.001):
        guess = (guess + x / guess) * 0.5
        turns += 1
    return guess


def divided(A: int8[144], n: int32) -> int32:
    """Iterations that do not count divide by what they like and read outside the array."""
    i: int32 = 0
    total: int32 = 0
    while n // (9 - i) > 1:
        total += A[i * 16] // (9 - i)
        i += 1
    return total


def arguments(kernel, rng: np.random.Generator) -> list:
    """Random arguments that stay inside the arrays."""
    whole = np.int32
    if kernel is twice:
        A, keys = rng.integers(0, 9, (4, 64)), rng.integers(0, 9, 4)
        return [A.astype(whole), keys.astype(whole), np.zeros(4, whole), np.zeros((4, 64), whole)]
    if kernel is sums:
        A = rng.permutation(64).astype(whole)
        return [A, rng.integers(-99, 99, 64).astype(whole), int(A[rng.integers(64)])]
    if kernel is pair:
        return [rng.integers(0, 40, 64).astype(whole), int(rng.integers(0, 90))]
    if kernel is passes:
        A = np.arange(64)
        A[:6] = rng.permutation(6)
        return [A.astype(whole), int(rng.integers(1, 12))]
    if kernel is collatz:
        return [int(rng.integers(1, 99)), np.zeros(64, whole)]
    if kernel is wandering:
        return [rng.integers(0, 256, 256).astype(np.uint8), np.zeros(256, whole)]
    if kernel is root:
        return [float(np.float32(rng.uniform(1, 50)))]
    return [rng.integers(-128, 128, 144).astype(np.int8), int(rng.integers(0, 40))]


@pytest.mark.parametrize(
    "kernel,loop,engine",
    [
        (twice, "i", "verilator"),
        (twice, "i", "jit"),
        (twice, "", "jit"),
        (pair, "j", "jit"),
        (pair, "", "jit"),
        (passes, "i", "jit"),
        (collatz, "", "jit"),
        (wandering, "", "verilator"),
        (wandering, "", "jit"),
        (root, "", "jit"),
        (sums, "", "jit"),
        (divided, "", "jit"),
    ],
    ids=lambda value: getattr(value, "__name__", value or "serial"),
)
def test_every_call_gives_what_the_cpu_gives(kernel, loop: str, engine: str):
    module, cpu = built(kernel, *loop, simulator=engine), allo.customize(kernel).build()
    rng = np.random.default_rng(3)
    for _ in range(8):
        expected = arguments(kernel, rng)
        got = [v.copy() if isinstance(v, np.ndarray) else v for v in expected]
        assert cpu(*expected) == module(*got)
        assert all(np.array_equal(a, b) for a, b in zip(expected, got, strict=True))


def loop_of(module):
    return module.report.functions[-1].loops[-1]


def test_what_an_iteration_must_wait_for_is_said():
    """The next subscript and the next condition come from memory; a sum has a tree before it."""
    assert loop_of(built(sums)).ii == 1
    loop = loop_of(built(wandering))
    assert (loop.ii, loop.pipelined, loop.cycles) == (2, False, None)
    assert "gains nothing" in loop.limit


@df.region()
def until_seven(A: int32[32], B: int32[32]):
    pipe: Stream[int32, 4]

    @df.kernel(mapping=[1], args=[A])
    def produce(local_A: int32[32]):
        for i in range(32):
            pipe.put(local_A[i])
            if local_A[i] == 7:
                break

    @df.kernel(mapping=[1], args=[B])
    def consume(local_B: int32[32]):
        for j in range(32):
            x: int32 = pipe.get()
            local_B[j] = x
            if x == 7:
                break


@pytest.mark.parametrize("pipelined", [False, True])
def test_processes_that_wait_stop_where_they_do_not_overlap(pipelined: bool):
    s = df.customize(until_seven)
    for loop in ("produce_0:i", "consume_0:j") if pipelined else ():
        s.pipeline(loop)
    module = s.build(target="verilog", simulator="jit")
    for hit in (0, 5, 31):
        A = np.arange(32, dtype=np.int32) + 100
        A[hit] = 7
        B = np.zeros(32, np.int32)
        module(A, B)
        assert np.array_equal(B, np.where(np.arange(32) <= hit, A, 0))
        assert module.cycles == (35 if pipelined else 2 * hit + 4)
    limits = [f.loops[0].limit for f in module.report.functions if f.loops]
    if pipelined:
        start = "counts to its end, though it may be left early: "
        assert [limit.split(" (")[0] for limit in limits] == [
            f"{start}places for words of pipe are taken ahead",
            f"{start}words of pipe are taken ahead",
        ]
    else:
        assert limits == ["", ""]


@df.region()
def added_until_seven(A: int32[32], B: int32[32]):
    pipe: Stream[int32, 4]

    @df.kernel(mapping=[1], args=[A])
    def produce(local_A: int32[32]):
        for i in range(32):
            pipe.put(local_A[i])

    @df.kernel(mapping=[1], args=[B])
    def consume(local_B: int32[32]):
        k: int32 = 0
        x: int32 = pipe.get()
        while x != 7:
            local_B[k] += x
            k += 1
            x = pipe.get()


def test_a_while_loop_that_waits_says_so():
    module = df.customize(added_until_seven).build(target="verilog", simulator="jit")
    A, B = np.arange(32, dtype=np.int32) - 24, np.arange(32, dtype=np.int32)
    expected = np.where(np.arange(32) < 31, A + B, B)
    module(A, B)
    assert np.array_equal(B, expected)
    limit = module.report.functions[1].loops[0].limit
    assert limit.startswith("not pipelined: it waits for pipe (test_early_exits.py:")


def rows(A: int32[8, 8], n: int32) -> int32:
    total: int32 = 0
    r: int32 = 0
    while r < n:
        for i in range(8):
            total += A[r, i]
        r += 1
    return total


def test_a_while_loop_around_a_loop_says_so():
    module = built(rows, "i", simulator="jit")
    line = rows.__code__.co_firstlineno + 4
    assert loop_of(module).limit.partition("; ")[0] == (
        f"not pipelined: it holds a loop (test_early_exits.py:{line}:9)"
    )
    values = np.arange(64, dtype=np.int32).reshape(8, 8)
    assert module(values, 3) == values[:3].sum()


def test_a_loop_around_loops_stops_too():
    module = built(pair, "j", simulator="jit")
    loop = loop_of(module)
    assert (loop.trips, loop.cycles) == (None, None)
    values = np.arange(64, dtype=np.int32)
    values[0] = -100
    assert module(values, -98) == 2
    assert module.cycles < 20
    assert module(values, 1000) == -1
    assert module.cycles > 64 * 32
    assert module(values, 2) == 65
    assert module.cycles < 90


@pytest.mark.parametrize("check", [False, True])
def test_speculation_raises_no_bounds_error(check: bool):
    """Iterations that do not count read behind the end of the array."""
    values = np.arange(144).astype(np.int8)
    module = built(divided, simulator="jit", check_bounds=check)
    assert loop_of(module).pipelined
    assert module(values, 39) == allo.customize(divided).build()(values, 39)


def past(A: int32[16], key: int32) -> int32:
    i: int32 = 0
    while A[i] != key:
        i += 1
    return i


def test_an_iteration_that_counts_and_leaves_the_array_is_an_error():
    module = built(past, simulator="jit", check_bounds=True)
    assert module(np.arange(16, dtype=np.int32), 15) == 15
    with pytest.raises(BoundsError, match=r"Index out of range: A\[16\] of an array of shape"):
        module(np.arange(16, dtype=np.int32), 16)
