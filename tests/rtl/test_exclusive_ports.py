"""Accesses under conditions that exclude each other share a port; those of two iterations never do."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pytest

import allo
from allo import Partition
from allo.backend.rtl import compile_design
from allo.backend.rtl.graph.nodes import Node
from allo.backend.rtl.plan.share import without_twins
from allo.backend.rtl.plan.turns.rotation import Rotation
from allo.ir.types import int32
from tests.figures_plugin import Held

from .differential import compare, function
from .test_gemm import loop_called

TRIPS = 12


class _Branches:
    """Writes a pipeline of nested conditions with loads and stores in all branches."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._lines: list[str] = []
        self._count = 0
        self._statements(["%w"], int(self._rng.integers(1, 4)), 0)
        lines = [
            "%c0 = arith.constant 0 : i32",
            "%c15 = arith.constant 15 : i32",
            '%t = memref.alloc() {name = "t"} : memref<i32>',
            "affine.store %c0, %t[] : memref<i32>",
            f"affine.for %i = 0 to {TRIPS} {{",
            f"%w = affine.load %c[%i] : memref<{TRIPS}xi32>",
            *self._lines,
            "%last = affine.load %t[] : memref<i32>",
            f"affine.store %last, %o[%i] : memref<{TRIPS}xi32>",
            '} {loop_name = "i", pipeline_ii = 1 : ui32}',
            "return",
        ]
        arguments = {
            "a": ("memref<16xi32>", "i32"),
            "b": ("memref<16xi32>", "i32"),
            "c": (f"memref<{TRIPS}xi32>", "i32"),
            "o": (f"memref<{TRIPS}xi32>", "i32"),
        }
        self.text = function("\n".join(lines), arguments)

    def _fresh(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def _line(self, text: str) -> str:
        name = self._fresh()
        self._lines.append(f"{name} = {text}")
        return name

    def _pick(self, values: list[str]) -> str:
        return values[int(self._rng.integers(0, len(values)))]

    def _subscript(self, values: list[str]) -> str:
        if self._rng.random() < 0.5:
            return self._line(
                f"affine.apply affine_map<(d0) -> (d0 + {self._rng.integers(0, 4)})>(%i)"
            )
        low = self._line(f"arith.andi {self._pick(values)}, %c15 : i32")
        return self._line(f"arith.index_cast {low} : i32 to index")

    def _statements(self, values: list[str], count: int, depth: int) -> None:
        values = list(values)
        for _ in range(count):
            roll = self._rng.random()
            array = self._pick(["%a", "%a", "%b"])
            if roll < 0.4 and depth < 3:
                self._if(values, depth)
            elif roll < 0.65:
                where = self._subscript(values)
                values.append(self._line(f"memref.load {array}[{where}] : memref<16xi32>"))
            elif roll < 0.85:
                where, value = self._subscript(values), self._pick(values)
                self._lines.append(f"memref.store {value}, {array}[{where}] : memref<16xi32>")
            else:
                old = self._line("affine.load %t[] : memref<i32>")
                new = self._line(f"arith.addi {old}, {self._pick(values)} : i32")
                self._lines.append(f"affine.store {new}, %t[] : memref<i32>")

    def _if(self, values: list[str], depth: int) -> None:
        if self._rng.random() < 0.3:
            bound = int(self._rng.integers(0, TRIPS))
            test = self._pick([f"d0 - {bound} >= 0", f"d0 - {bound} == 0"])
            self._lines.append(f"affine.if affine_set<(d0) : ({test})>(%i) {{")
        else:
            kind = self._pick(["sgt", "eq", "slt", "ne"])
            limit = self._line(f"arith.constant {self._rng.integers(-2, 3)} : i32")
            low = self._line(f"arith.andi {self._pick(values)}, %c15 : i32")
            test = self._line(f"arith.cmpi {kind}, {low}, {limit} : i32")
            self._lines.append(f"scf.if {test} {{")
        self._statements(values, int(self._rng.integers(1, 4)), depth + 1)
        if self._rng.random() < 0.8:
            self._lines.append("} else {")
            self._statements(values, int(self._rng.integers(1, 4)), depth + 1)
        self._lines.append("}")


@pytest.mark.parametrize("seed", range(40))
def test_random_branches(seed: int) -> None:
    compare(_Branches(seed).text, "f", seed=seed)


def test_random_branches_in_verilator() -> None:
    compare(_Branches(1).text, "f", simulator="verilator")


def chain(c: int32[64], a: int32[64], y: int32[64], z: int32[64]):
    for i in range(64):
        if c[i] > 5:
            y[c[i] & 63] = a[i]
            z[i] = 2
        elif c[i] > 2:
            y[a[i] & 63] = a[i] * 3
            z[63 - i] = 1
        elif c[i] > -4:
            y[63 - i] = 7
        else:
            y[i] = 2
            z[5] = 3


def reads(c: int32[64], a: int32[256], y: int32[64]):
    for i in range(64):
        v: int32 = 0
        if c[i] > 0:
            v = a[i] + a[i + 64]
        else:
            v = a[i + 128] + a[i + 192]
        y[i] = v


def nested(c: int32[64], a: int32[256], y: int32[64]):
    for i in range(64):
        if c[i] > 0:
            if c[i] > 4:
                y[i] = a[i] + a[i + 64]
            else:
                y[63 - i] = a[i + 1] - a[i + 65]
        else:
            y[c[i] & 63] = a[i + 128] - a[i + 192]


def both_ways(c: int32[64], a: int32[64]):
    """A load and a store that exclude each other: what one iteration stores the next may load."""
    for i in range(64):
        if c[i] > 0:
            a[c[i] & 63] = i
        else:
            a[i] = a[c[i] & 63] + a[63 - i]


KERNELS = {"chain": chain, "reads": reads, "nested": nested}


def _arguments(kernel: object, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = {"chain": (64, 64, 64, 64), "late": (64, 64, 128), "both_ways": (64, 64)}
    name = getattr(kernel, "__name__", "")
    first, *rest = sizes.get(name, (64, 256, 64))
    values = [rng.integers(-100, 100, n, dtype=np.int32) for n in rest]
    return [rng.integers(-9, 10, first, dtype=np.int32), *values]


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
@pytest.mark.parametrize("name", KERNELS)
def test_one_cycle_an_iteration(name: str, simulator: str, figures: Held) -> None:
    kernel = KERNELS[name]
    s = allo.customize(kernel)
    s.pipeline("i")
    module = s.build(target="verilog", simulator=simulator)
    for seed in range(3):
        ours = _arguments(kernel, seed)
        theirs = [array.copy() for array in ours]
        module(*ours)
        kernel(*theirs)
        for mine, expected in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(mine, expected)
        figures.hold(f"rtl.exclusive.{name}.cycles", module.cycles, report=module.report.cycles)
    loop = loop_called(module.report, "i")
    assert (loop.ii, loop.limit) == (1, "")


def late(c: int32[64], a: int32[64], y: int32[128]):
    """Stores in different cycles of the iteration: both ports, although they exclude each other."""
    for i in range(64):
        if c[i] > 0:
            y[i] = c[i]
        else:
            y[i + 64] = a[i] // 7


def reused(c: int32[64], a: int32[256], y: int32[64]):
    """What one branch loads is read behind it too."""
    for i in range(64):
        v: int32 = 0
        if c[i] > 0:
            v = a[i] + a[i + 64]
        else:
            v = a[i + 128] + a[i + 192]
        y[i] = v + a[i] * 3 + a[i + 128]


def chosen(c: int32[64], a: int32[256], y: int32[64]):
    """What one branch loads is chosen where that one is not taken."""
    for i in range(64):
        v: int32 = 0
        if c[i] > 0:
            v = a[i] + a[i + 64]
        else:
            v = a[i + 128] + a[i + 192]
        y[i] = v - (5 if c[i] > 0 else a[i])


def asked_again(c: int32[64], a: int32[256], y: int32[64]):
    """A condition of one branch is asked behind it too."""
    for i in range(64):
        v: int32 = 0
        if c[i] > 0:
            v = a[i]
            if a[i + 64] > 3:
                v = 7
        else:
            v = a[i + 128] + a[i + 192]
        if a[i + 64] > 3:
            v += 100
        y[i] = v


CHECKED = {
    "both_ways": (both_ways, 2),
    "late": (late, 1),
    "reused": (reused, 2),
    "chosen": (chosen, 2),
    "asked_again": (asked_again, 2),
}


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
@pytest.mark.parametrize("name", CHECKED)
def test_what_does_not_exclude_each_other(name: str, simulator: str) -> None:
    kernel, interval = CHECKED[name]
    s = allo.customize(kernel)
    s.pipeline("i")
    module = s.build(target="verilog", simulator=simulator)
    for seed in range(4):
        ours = _arguments(kernel, seed)
        theirs = [array.copy() for array in ours]
        module(*ours)
        s.build()(*theirs)
        for mine, expected in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(mine, expected)
        assert module.cycles == module.report.cycles
    assert loop_called(module.report, "i").ii == interval


def test_two_writes_of_one_branch_have_two_ports() -> None:
    """Three are one too many, although two of the five exclude them."""
    body = """affine.for %i = 0 to 8 {
        %w = affine.load %c[%i] : memref<8xi32>
        %z = arith.constant 0 : i32
        %t = arith.cmpi sgt, %w, %z : i32
        scf.if %t {
        affine.store %w, %a[%i] : memref<32xi32> loc("k.py":1:1)
        affine.store %w, %a[%i + 8] : memref<32xi32>
        affine.store %w, %a[%i + 16] : memref<32xi32>
        } else {
        affine.store %z, %a[%i + 1] : memref<32xi32>
        affine.store %z, %a[%i + 24] : memref<32xi32>
        }
        } {loop_name = "i", pipeline_ii = 1 : ui32}
        return"""
    arguments = {"c": ("memref<8xi32>", "i32"), "a": ("memref<32xi32>", "i32")}
    loop = loop_called(compile_design(function(body, arguments), "f").report, "i")
    assert loop.ii == 2
    assert loop.limit.startswith("II=2: 5 writes of a (k.py:1:1) need 2 cycles of bank 0's 2 ports")


def test_the_ports_of_banks_that_the_same_accesses_take_are_asked_once():
    a, b, c, write = ("port", 0), ("port", 1), ("port", 2), ("writes", 0)
    uses: dict[int, list[Hashable]] = {1: [a, write, b], 2: [a, write, b, c], 3: [c], 4: []}
    assert without_twins(uses) == {1: [a, write], 2: [a, write, c], 3: [c], 4: []}


def test_a_gather_compares_no_lanes_of_which_each_may_go_anywhere(monkeypatch: pytest.MonkeyPatch):
    """Pairs of lanes were compared in every bank, and then once; nothing is known of any."""
    asked: list[tuple[Node, Node]] = []
    apart = Rotation.apart

    def counted(self: Rotation, first: Node, second: Node, later: int) -> bool:
        asked.append((first, second))
        return apart(self, first, second, later)

    monkeypatch.setattr(Rotation, "apart", counted)
    counts = []
    for lanes in (8, 16):
        asked.clear()

        def gather(A: int32[64], at: int32[64], B: int32[64]):
            for i in range(64 // lanes):
                for j in range(lanes):
                    B[i * lanes + j] = A[at[i * lanes + j]]

        s = allo.customize(gather)
        s.unroll("j")
        s.pipeline("i")
        for array in (s.A, s.at, s.B):
            s.partition(array, Partition.Cyclic, 1, lanes)
        hardware = s.build(target="verilog", simulator="jit")
        counts.append(len(asked))
        A = np.arange(64, dtype=np.int32) * 3
        at = np.random.default_rng(lanes).permutation(64).astype(np.int32)
        B = np.zeros(64, np.int32)
        hardware(A, at, B)
        np.testing.assert_array_equal(B, A[at])
    assert counts == [0, 0]
