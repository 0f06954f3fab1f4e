"""``s.dataflow`` on a loop whose tasks hand each other scalar variables, or need many ports of copies."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

import allo
from allo.backend.rtl.emit.network import shared_ports
from allo.dialects.streams.loops import iterations
from allo.errors import DataflowWarning
from allo.ir.types import float32, int32
from tests.rtl.differential import compare, function
from tests.rtl.test_dataflow_loops import alone, scheduled
from tests.rtl.test_dataflow_tasks import ENGINES, everywhere, numbers


def softmax(A: float32[16, 32], B: float32[16, 32]):
    for i in range(16):
        E: float32[32]
        m: float32 = -1e30
        for j in range(32):
            m = max(m, A[i, j])
        s: float32 = 0.0
        for k in range(32):
            E[k] = allo.exp(A[i, k] - m)
        for n in range(32):
            s += E[n]
        for q in range(32):
            B[i, q] = E[q] / s


def test_a_softmax_of_rows_takes_as_long_as_its_sum(figures):
    A = np.random.default_rng(0).random((16, 32), np.float32)
    B, want = np.zeros_like(A), np.zeros_like(A)
    allo.customize(softmax).build()(A, want)
    np.testing.assert_allclose(want, np.exp(A) / np.exp(A).sum(1, keepdims=True), rtol=1e-5)
    s = scheduled(softmax, "i", "j", "k", "n", "q")
    cycles, report = everywhere(s, [A, B], [A, want])
    apart = alone(piped(softmax, "jknq"))
    figures.hold("rtl.softmax.tasks.cycles", cycles, report=report.cycles)
    figures.hold("rtl.softmax.plain.cycles", apart)
    assert cycles < 0.7 * apart
    for name in ("m", "s", "E"):
        assert f"{name} has a copy for every other iteration." in report.notes


def piped(kernel, loops):
    s = allo.customize(kernel)
    for loop in loops:
        s.pipeline(loop)
    return s


def test_a_variable_from_one_task_to_the_next():
    def centred(A: int32[6, 16], B: int32[6, 16]):
        for i in range(6):
            s: int32 = 0
            for j in range(16):
                s += A[i, j]
            for k in range(16):
                B[i, k] = A[i, k] * 16 - s

    A, B = numbers((6, 16), (6, 16))
    want = A * 16 - A.sum(axis=1, dtype=np.int32)[:, None]
    cycles, report = everywhere(scheduled(centred, "i", "j", "k"), [A, B], [A, want])
    assert cycles == report.cycles < 7 * 24


def test_a_sum_over_all_iterations_of_one_task():
    def total(A: int32[6, 16], B: int32[6, 16]) -> int32:
        acc: int32 = 7
        for i in range(6):
            T: int32[16]
            for j in range(16):
                T[j] = A[i, j] * 2
                acc += A[i, j]
            for k in range(16):
                B[i, k] = T[k] + 1
        return acc

    s = scheduled(total, "i", "j", "k")
    A, B = numbers((6, 16), (6, 16))
    for simulator in ENGINES:
        module = s.build(target="verilog", configs={"simulator": simulator})
        for _ in range(2):
            assert module(A, B) == 7 + A.sum()
            np.testing.assert_array_equal(B, A * 2 + 1)
            assert module.cycles == module.report.cycles < 7 * 24


def test_a_variable_that_goes_round_two_tasks_is_waited_for():
    def round_trip(A: int32[6, 16], B: int32[6, 16]):
        last: int32 = 3
        for i in range(6):
            for j in range(16):
                B[i, j] = A[i, j] + last
            for k in range(16):
                last = max(last, B[i, k])

    A, B = numbers((6, 16), (6, 16))
    want, last = np.zeros_like(A), np.int32(3)
    for i in range(6):
        want[i] = A[i] + last
        last = max(last, want[i].max())
    with pytest.warns(DataflowWarning) as caught:
        everywhere(scheduled(round_trip, "i", "j", "k"), [A, B], [A, want])
    text = str(caught[0].message)
    line = round_trip.__code__.co_firstlineno + 2
    assert f"test_dataflow_variables.py:{line}:" in text
    assert "note: S_j_0 starts its next iteration when S_k_1 is over: both use last." in text


def test_variables_that_the_loop_only_reads():
    def scaled(A: int32[6, 16], B: int32[6, 16], C: int32[8], p: int32):
        g: int32 = p
        for z in range(8):
            g = max(g, C[z])
        for i in range(6):
            T: int32[16]
            for j in range(16):
                T[j] = A[i, j] * 2 + g
            for k in range(16):
                B[i, k] = T[k] - g * p

    A, B, C = numbers((6, 16), (6, 16), 8)
    g = max(5, C.max())
    s = scheduled(scaled, "i", "z", "j", "k")
    cycles, report = everywhere(s, [A, B, C, 5], [A, A * 2 + g - g * 5, C, 5])
    assert cycles == report.cycles < 8 + 7 * 24


def test_rows_of_a_sparse_matrix():
    def sparse(
        start: int32[9], v: int32[40], c: int32[40], x: int32[16], y: int32[8], z: int32[40]
    ):
        for i in range(8):
            T: int32[40]
            a: int32 = start[i]
            b: int32 = start[i + 1]
            for j in range(a, b):
                T[j] = v[j] * x[c[j]]
            acc: int32 = 0
            for k in range(a, b):
                acc += T[k]
                z[k] = T[k]
            y[i] = acc

    rng = np.random.default_rng(0)
    start = np.sort(np.concatenate([[0, 40], rng.integers(0, 40, 7)])).astype(np.int32)
    c = rng.integers(0, 16, 40).astype(np.int32)
    v, x, y, z = numbers(40, 16, 8, 40)
    products = v * x[c]
    sums = np.array([products[a:b].sum() for a, b in zip(start, start[1:], strict=False)], np.int32)
    given = [start, v, c, x, y, z]
    cycles, report = everywhere(
        scheduled(sparse, "i", "j", "k"), given, [start, v, c, x, sums, products]
    )
    assert report.cycles is None
    module = piped(sparse, "jk").build(target="verilog")
    module(*(np.array(a) for a in given))
    assert cycles < module.cycles


def test_copies_with_many_ports_are_memories_of_their_own():
    def histogram(A: int32[8, 32], P: int32[8, 16]):
        for i in range(8):
            H: int32[16]
            for z in range(16):
                H[z] = 0
            for j in range(32):
                H[A[i, j] & 15] += 1
            s: int32 = 0
            for k in range(16):
                s += H[k]
                P[i, k] = s

    A, P = numbers((8, 32), (8, 16))
    want = np.array([np.bincount(row & 15, minlength=16).cumsum() for row in A], np.int32)
    cycles, report = everywhere(scheduled(histogram, "i", "z", "j", "k"), [A, P], [A, want])
    assert cycles == report.cycles < 10 * 40
    (memory,) = [m for f in report.functions for m in f.memories if m.name == "H" and m.banks == 2]
    assert (memory.words, memory.storage) == (16, "RAM")


def test_partitioned_copies_with_many_ports():
    def windows(A: int32[6, 24], B: int32[6, 20]):
        for i in range(6):
            R: int32[24]
            for j in range(24):
                R[j] = A[i, j] * 3
            for k in range(20):
                B[i, k] = R[k] + R[k + 1] + R[k + 2] + R[k + 3]

    A, B = numbers((6, 24), (6, 20))
    rows = A * 3
    want = sum(rows[:, d : d + 20] for d in range(4))
    s = scheduled(windows, "i", "j", "k")
    s.partition(s.R, partition_type=2, factor=2)
    cycles, report = everywhere(s, [A, B], [A, want])
    assert cycles == report.cycles < 7 * 32


# --- planted faults ----------------------------------------------------------------------------


def differs(kernel, *loops) -> bool:
    """Whether hardware gives other elements than the CPU."""
    A, B = numbers((6, 16), (6, 16))
    want = [A.copy(), B.copy()]
    allo.customize(kernel).build()(*want)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataflowWarning)
        module = scheduled(kernel, "i", *loops).build(target="verilog")
    module(A, B)
    return not all(np.array_equal(a, b) for a, b in zip([A, B], want, strict=True))


def slow_reader(A: int32[6, 16], B: int32[6, 16]):
    for i in range(6):
        s: int32 = 0
        R: int32[16]
        for j in range(16):
            R[j] = A[i, j]
            s += A[i, j]
        for k in range(14):
            B[i, k] = R[k] + R[k + 1] + R[k + 2] - s


@pytest.mark.values_elsewhere("it shows that a planted fault is seen")
def test_a_wait_that_is_left_out_is_seen(monkeypatch):
    assert not differs(slow_reader, "j", "k")
    plain = iterations._distance

    def forgets(first, second, least, *, doubled):
        distance = plain(first, second, least, doubled=doubled)
        return distance + 1 if distance == 2 else distance

    monkeypatch.setattr(iterations, "_distance", forgets)
    assert differs(slow_reader, "j", "k")


@pytest.mark.values_elsewhere("it shows that a planted fault is seen")
def test_copies_taken_for_others_are_seen(monkeypatch):
    plain = shared_ports.SharedPorts._enable

    def same(self, client, array, place):
        if client.use.writes:
            place = (place + array.layout.bank_count) % array.banks
        return plain(self, client, array, place)

    monkeypatch.setattr(shared_ports.SharedPorts, "_enable", same)
    assert differs(slow_reader, "j", "k")


# --- random loops ------------------------------------------------------------------------------


def random_variables(rng: random.Random) -> str:
    """A marked loop whose nests and statements read and set variables inside and outside it."""
    rows, size = rng.choice((2, 3, 6)), rng.choice((1, 3, 8))
    deep, flat = f"memref<{rows}x{size}xi32>", f"memref<{size}xi32>"
    lines = ["%c = arith.constant 5 : i32"]
    for name in ("p", "q"):
        lines.append(f'%{name} = memref.alloc() {{name = "{name}"}} : memref<i32>')
        lines.append(f"affine.store %c, %{name}[] : memref<i32>")
    lines.append(f'%T0 = memref.alloc() {{name = "T0"}} : {flat}')
    lines.append(f"affine.for %z = 0 to {size} {{ affine.store %c, %T0[%z] : {flat} }}")
    lines.append(f"affine.for %i = 0 to {rows} {{")
    for name in ("s", "t"):
        lines.append(f'%{name} = memref.alloc() {{name = "{name}"}} : memref<i32>')
        lines.append(
            f"%{name}0 = {rng.choice((f'affine.load %A[%i, 0] : {deep}', 'arith.constant 9 : i32'))}"
        )
        lines.append(f"affine.store %{name}0, %{name}[] : memref<i32>")
    lines.append(f'%T1 = memref.alloc() {{name = "T1"}} : {flat}')
    lines.append(_nest(rng, size, ["A", "B"], "T1", whole=True, number=0))
    for number in range(1, rng.randint(2, 5)):
        if rng.random() < 0.35:
            a, b = rng.choice("pqst"), rng.choice("pqst")
            lines.append(f"%x{number} = affine.load %{a}[] : memref<i32>")
            lines.append(f"%y{number} = arith.addi %x{number}, %c : i32")
            lines.append(f"affine.store %y{number}, %{b}[] : memref<i32>")
            continue
        target = rng.choice(("B", "T0", "T1", "B"))
        lines.append(_nest(rng, size, ["A", "B", "T0", "T1"], target, whole=False, number=number))
    if rng.random() < 0.5:
        lines.append("%last = affine.load %s[] : memref<i32>")
        lines.append(f"affine.store %last, %B[%i, 0] : {deep}")
    lines.append('} {dataflow, loop_name = "i"}')
    lines.append("%end = affine.load %p[] : memref<i32>")
    lines.append(f"affine.store %end, %A[0, 0] : {deep}")
    lines.append("return")
    text = "\n".join(lines).replace("ROWS", str(rows))
    return function(text, {"A": (deep, "i32"), "B": (deep, "i32")})


def _nest(
    rng: random.Random, size: int, read: list[str], written: str, *, whole: bool, number: int
) -> str:
    def place(name: str) -> str:
        index = "%j" if name == written and whole else rng.choice(("%j", "%j", f"-%j + {size - 1}"))
        if name in "AB":
            rows = rng.choice(("%i", "%i", "0")) if name == "B" else "%i"
            return f"%{name}[{rows}, {index}]"
        return f"%{name}[{index}]"

    def loaded(name: str) -> str:
        deep = f"memref<ROWSx{size}xi32>"
        return f"affine.load {place(name)} : {deep if name in 'AB' else f'memref<{size}xi32>'}"

    lines = [f"affine.for %j = 0 to {size} {{", f"%a = {loaded(rng.choice(read))}"]
    value = "%a"
    for turn, name in enumerate(rng.sample("pqst", rng.randint(0, 2))):
        lines.append(f"%v{turn} = affine.load %{name}[] : memref<i32>")
        lines.append(f"%w{turn} = arith.addi {value}, %v{turn} : i32")
        value = f"%w{turn}"
    if rng.random() < 0.5:
        lines.append(f"affine.store {value}, %{rng.choice('pqst')}[] : memref<i32>")
    target = f"{place(written)} : " + (
        f"memref<ROWSx{size}xi32>" if written in "AB" else f"memref<{size}xi32>"
    )
    lines.append(f"affine.store {value}, {target}")
    mark = " {pipeline_ii = 1 : ui32}" if rng.random() < 0.7 else ""
    return "\n".join([*lines, f"}}{mark}"])


@pytest.mark.parametrize("seed", [*range(32), 5072])
def test_random_variables(seed):
    text = random_variables(random.Random(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataflowWarning)
        compare(text, "f", seed=seed, simulator=ENGINES[seed % 8 == 0])
