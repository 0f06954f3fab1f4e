"""Regions that start while those before them drain: the same elements, in fewer cycles, as predicted."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

import allo
from allo.ir.types import int32
from tests.rtl.differential import compare, function

N = 6
MEMORY = dict.fromkeys("AB", ("memref<6x6xi32>", "i32"))
VECTORS = dict.fromkeys("xy", ("memref<6xi32>", "i32"))


class Nest:
    """Text of random nests: pipelines in loops, code between them, elements that meet again and again."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._count = 0
        self._lines: list[str] = []

    def text(self) -> str:
        """A function of one to three nests."""
        for _ in range(self._random.randint(1, 3)):
            self._loop([], self._random.randint(0, 2))
        return function("\n".join([*self._lines, "return"]), {**MEMORY, **VECTORS})

    def _name(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def _loop(self, around: list[str], deeper: int) -> None:
        pick, iterator = self._random, self._name()
        bounds = [f"0 to {pick.randint(1, N)}", f"{pick.randint(0, 2)} to {N}"]
        if around:
            outer = pick.choice(around)
            bounds += [
                f"0 to affine_map<(d0) -> (d0)>({outer})",
                f"affine_map<(d0) -> (d0)>({outer}) to {N}",
                f"affine_map<(d0) -> (d0 + 1)>({outer}) to {N}",
            ]
        self._lines.append(f"affine.for {iterator} = {pick.choice(bounds)} {{")
        inside = [*around, iterator]
        if not deeper:
            for _ in range(pick.randint(1, 2)):
                self._statement(inside)
            asked = pick.randint(1, 2)
            self._lines.append(f'}} {{loop_name = "l{self._count}", pipeline_ii = {asked} : i32}}')
            return
        for _ in range(pick.randint(1, 3)):
            if pick.random() < 0.4:
                self._statement(inside)
            else:
                self._loop(inside, deeper - 1)
        self._lines.append(f'}} {{loop_name = "l{self._count}"}}')

    def _place(self, around: list[str]) -> str:
        """An array at subscripts within its bounds."""
        array = self._random.choice(["A", "B", "x", "y"])
        places = [self._subscript(around) for _ in range(2 if array in "AB" else 1)]
        kind = "memref<6x6xi32>" if array in "AB" else "memref<6xi32>"
        return f"%{array}[{', '.join(places)}] : {kind}"

    def _subscript(self, around: list[str]) -> str:
        iterator = self._random.choice(around)
        choices = [iterator] * 4 + [f"-{iterator} + {N - 1}", f"({iterator} + 1) mod {N}", "2"]
        return self._random.choice(choices)

    def _statement(self, around: list[str]) -> None:
        target = self._place(around)
        first, second = self._name(), self._name()
        source = target if self._random.random() < 0.5 else self._place(around)
        self._lines.append(f"{first} = affine.load {source}")
        self._lines.append(f"{second} = affine.load {self._place(around)}")
        op = self._random.choice(["addi", "muli", "subi", "muli", "divsi"])
        value = self._name()
        self._lines.append(f"{value} = arith.{op} {first}, {second} : i32")
        self._lines.append(f"affine.store {value}, {target}")


class Sweeps:
    """Text of random pipelines, one after the other, that read what those before them store."""

    EXTENT = 24

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"sweeps {seed}")
        self._count = 0
        self._lines: list[str] = []

    def text(self) -> str:
        for _ in range(self._random.randint(2, 4)):
            self._random.choice([self._sweep, self._sweep, self._table])()
        kind = f"memref<{self.EXTENT}xi32>", "i32"
        arrays = {**dict.fromkeys("AB", MEMORY["A"]), **dict.fromkeys("xyz", kind)}
        return function("\n".join([*self._lines, "return"]), arrays)

    def _name(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def _sweep(self) -> None:
        """A loop over vectors, forwards and backwards, in steps of one and two."""
        pick, at, last = self._random, self._name(), self.EXTENT - 1
        low, high = pick.choice([(0, 24), (0, 24), (3, 20), (0, 12), (0, 12)])
        places = [at, at, at, f"-{at} + {last}", f"({at} + 5) mod 24", f"{at} floordiv 2", "7"]
        if high == 12:
            places += [f"{at} * 2", f"{at} * 2 + 1", f"{at} * -2 + 23", f"{at} + 12"]
        step = pick.choice(["", "", " step 2"])
        self._lines.append(f"affine.for {at} = {low} to {high}{step} {{")
        self._statements(lambda: f"%{pick.choice('xyz')}[{pick.choice(places)}] : memref<24xi32>")

    def _table(self) -> None:
        """A nest over a table, or over a triangle of it."""
        pick, row, column = self._random, self._name(), self._name()
        bound = pick.choice(["6", "6", f"affine_map<(d0) -> (d0 + 1)>({row})"])
        self._lines.append(f"affine.for {row} = 0 to 6 {{")
        self._lines.append(f"affine.for {column} = 0 to {bound} {{")
        places = [
            *[f"%{array}[{row}, {column}] : memref<6x6xi32>" for array in "AB"],
            *[f"%{array}[{column}, {row}] : memref<6x6xi32>" for array in "AB"],
            f"%A[{row}, -{column} + 5] : memref<6x6xi32>",
            f"%x[{row} * 4] : memref<24xi32>",
            f"%y[{row} * 3 + {column}] : memref<24xi32>",
        ]
        self._statements(lambda: pick.choice(places))
        self._lines.append(f'}} {{loop_name = "l{self._count}"}}')

    def _statements(self, place: Callable[[], str]) -> None:
        pick = self._random
        for _ in range(pick.randint(1, 2)):
            first, second, value = self._name(), self._name(), self._name()
            self._lines.append(f"{first} = affine.load {place()}")
            self._lines.append(f"{second} = affine.load {place()}")
            op = pick.choice(["addi", "muli", "subi", "divsi"])
            self._lines.append(f"{value} = arith.{op} {first}, {second} : i32")
            self._lines.append(f"affine.store {value}, {place()}")
        asked = pick.randint(1, 3)
        self._lines.append(f'}} {{loop_name = "l{self._count}", pipeline_ii = {asked} : i32}}')


@pytest.mark.parametrize("seed", range(60))
def test_random_sweeps_give_the_cpus_bits_in_the_predicted_cycles(seed: int) -> None:
    module = compare(Sweeps(seed).text(), "f", seed=seed)
    assert module.cycles == module.report.cycles


@pytest.mark.parametrize("seed", range(40))
def test_random_nests_give_the_cpus_bits_in_the_predicted_cycles(seed: int) -> None:
    module = compare(Nest(seed).text(), "f", seed=seed)
    assert module.cycles == module.report.cycles


@pytest.mark.parametrize("seed", range(40, 43))
def test_random_nests_in_verilator(seed: int) -> None:
    compare(Nest(seed).text(), "f", seed=seed, simulator="verilator")


def two_rows(A: int32[16, 16], B: int32[16, 16], C: int32[16, 16]):
    for i in range(16):
        for j in range(16):
            B[i, j] = A[i, j] * A[j, i]
        for k in range(16):
            C[i, k] = C[i, k] * 3 + A[k, i] * 5


def passed_on(A: int32[16, 16], B: int32[16, 16], C: int32[16, 16]):
    for i in range(16):
        for j in range(16):
            B[i, j] = A[i, j] * A[j, i]
        for k in range(16):
            C[i, k] = B[i, 15 - k] + 1


def round_about(A: int32[16, 16], B: int32[16, 16], C: int32[16, 16]):
    for i in range(15):
        for j in range(16):
            B[i + 1, 15 - j] = B[i, j] * A[i, j]
        C[i, 0] = B[i, 3]


def hardware_of(kernel: Callable[..., None]):  # type: ignore[no-untyped-def]
    """The module, one loop after the other, after all elements were compared with the CPU's."""
    s = allo.customize(kernel)
    for _, band in s.get_loops():
        for name, loop in band:
            if name != "i":
                s.pipeline(loop)
    rng = np.random.default_rng(1)
    arrays = [rng.integers(-1000, 1000, (16, 16)).astype(np.int32) for _ in range(3)]
    expected = [a.copy() for a in arrays]
    s.build()(*expected)
    module = s.build(target="verilog", simulator="jit", overlap_loops=False)
    module(*arrays)
    for one, other in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert module.cycles == module.report.cycles
    return module


def test_pipelines_that_share_nothing_take_a_cycle_an_iteration() -> None:
    """Two loops of 16 in a loop of 16: without overlap 16 * (20 + 19) cycles."""
    assert hardware_of(two_rows).cycles <= 16 * 33 + 8


def test_the_last_element_of_a_row_is_waited_for() -> None:
    """The second loop reads the row from its end: it starts when all is stored."""
    assert 16 * 34 < hardware_of(passed_on).cycles < 16 * 38


def test_the_next_iteration_waits_for_what_it_reads() -> None:
    assert 15 * 17 < hardware_of(round_about).cycles < 15 * 22


def handed_on(A: int32[16, 16], B: int32[16, 16], C: int32[16, 16]):
    for i in range(16, name="first"):
        for j in range(16, name="j1"):
            B[i, j] = A[i, j] // (A[j, i] + 5000)
    for i in range(16, name="second"):
        for j in range(16, name="j2"):
            C[i, j] = B[i, j] * 3


def turned(A: int32[16, 16], B: int32[16, 16], C: int32[16, 16]):
    for i in range(16, name="first"):
        for j in range(16, name="j1"):
            B[i, j] = A[i, j] // (A[j, i] + 5000)
    for i in range(16, name="second"):
        for j in range(16, name="j2"):
            C[i, j] = B[15 - i, 15 - j] * 3


def test_a_table_handed_on_in_order_is_not_waited_for() -> None:
    """The second pipeline reads an element 256 cycles after it was issued; that of the other one waits."""
    early, late = hardware_of(handed_on).cycles, hardware_of(turned).cycles
    assert early <= 2 * 256 + 2 < 2 * 256 + 8 < late
