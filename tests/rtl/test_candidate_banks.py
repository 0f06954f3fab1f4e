"""An access whose bank is unknown in one dimension takes a port in that dimension's candidates only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
from allo import Partition
from allo.backend.rtl import compile_design
from allo.ir.types import float32, int32

from .differential import bits, compare, function
from .test_gemm import loop_called

EXTENTS = (24, 16)
TRIPS = 6


def _layout(kinds: list[tuple[str, int]]) -> str:
    """The layout map of an array, from kind and factor of each dimension."""
    banks, words = [], []
    for d, (kind, factor) in enumerate(kinds):
        chunk = -(-EXTENTS[d] // factor) if factor else 0
        found = {
            "none": ("0", f"d{d}"),
            "complete": (f"d{d}", "0"),
            "cyclic": (f"d{d} mod {factor}", f"d{d} floordiv {factor}"),
            "block": (f"d{d} floordiv {chunk}", f"d{d} mod {chunk}"),
        }[kind]
        banks.append(found[0])
        words.append(found[1])
    return f"affine_map<(d0, d1) -> ({', '.join(banks + words)})>"


def _program(rng: np.random.Generator, *, local: bool) -> str:
    """Reads and writes of a banked array at subscripts of all kinds, in one pipeline."""
    kinds = []
    for extent in EXTENTS:
        kind = str(rng.choice(["none", "complete", "cyclic", "cyclic", "block"]))
        kinds.append((kind, int(rng.choice([2, 3, 4, 6, extent // 2]))))
    plain = f"memref<{EXTENTS[0]}x{EXTENTS[1]}xi32>"
    banked = f"memref<{EXTENTS[0]}x{EXTENTS[1]}xi32, {_layout(kinds)}>"
    lines = [
        "%c7 = arith.constant 7 : i32",
        f"affine.for %i = 0 to {TRIPS} {{",
        "%word = affine.load %at[%i] : memref<6xi32>",
        "%low = arith.andi %word, %c7 : i32",
        "%n = arith.index_cast %low : i32 to index",
    ]

    def subscript(extent: int) -> str:
        """Any subscript in range: a constant, a word of memory, a stride of the counter."""
        name, kind = f"%x{len(lines)}", int(rng.integers(0, 4))
        if kind == 0:
            lines.append(f"{name} = arith.constant {rng.integers(0, extent)} : index")
            return name
        if kind < 3:
            factor = int(rng.integers(1, 3)) if extent > 14 else 1
            lines.append(f"{name}f = arith.constant {factor} : index")
            lines.append(f"{name}m = arith.muli %n, {name}f : index")
            lines.append(f"{name}c = arith.constant {rng.integers(0, extent - 7 * factor)} : index")
            lines.append(f"{name} = arith.addi {name}m, {name}c : index")
            return name
        stride = int(rng.integers(1, 4 if extent > 15 else 3))
        offset = int(rng.integers(0, extent - stride * (TRIPS - 1)))
        lines.append(f"{name} = affine.apply affine_map<(d0) -> ({stride} * d0 + {offset})>(%i)")
        return name

    def place() -> str:
        return ", ".join([subscript(extent) for extent in EXTENTS])

    name = "%local" if local else "%a"
    for k in range(int(rng.integers(3, 7))):
        where = place()
        lines.append(f"%v{k} = memref.load {name}[{where}] : {banked}")
        match int(rng.integers(0, 3)):
            case 0:
                lines.append(f"affine.store %v{k}, %out[%i, {k}] : memref<6x8xi32>")
            case 1:
                lines.append(f"%s{k} = arith.addi %v{k}, %word : i32")
                lines.append(f"memref.store %s{k}, {name}[{where}] : {banked}")
            case _:
                where = place()
                lines.append(f"memref.store %v{k}, {name}[{where}] : {banked}")
    lines.append('} {loop_name = "i", pipeline_ii = 1 : ui32}')
    if local:
        lines.insert(0, f'%local = memref.alloc() {{name = "local"}} : {banked}')
        lines.insert(1, f"memref.copy %a, %local : {plain} to {banked}")
        lines.append(f"memref.copy %local, %a : {banked} to {plain}")
    lines.append("return")
    kind = plain if local else banked
    arguments = {
        "a": (kind, "i32"),
        "at": ("memref<6xi32>", "i32"),
        "out": ("memref<6x8xi32>", "i32"),
    }
    return function("\n".join(lines), arguments)


@pytest.mark.parametrize("seed", range(16))
def test_random_accesses_of_banks(seed: int) -> None:
    compare(_program(np.random.default_rng(seed), local=seed % 2 == 1), "f", seed=seed)


def test_random_accesses_of_banks_in_verilator() -> None:
    compare(_program(np.random.default_rng(21), local=False), "f", simulator="verilator")


def two_products[T, U, N](A: float32[N, N], B: float32[N, N], G: float32[N, N]):
    """``G += A @ (A @ B)`` by tiles of T rows and U columns."""
    F: float32[N, N] = 0
    for k in range(N):
        for t in range(N // T):
            for u in range(N // U):
                for i in range(T):
                    for j in range(U):
                        F[t * T + i, u * U + j] += A[t * T + i, k] * B[k, u * U + j]
    for k2 in range(N):
        for t2 in range(N // T):
            for u2 in range(N // U):
                for i in range(T):
                    for j in range(U):
                        G[t2 * T + i, u2 * U + j] += A[t2 * T + i, k2] * F[k2, u2 * U + j]


def _tiled() -> Any:
    s = allo.customize(two_products, instantiate=[2, 4, 8])
    s.pipeline("u")
    s.pipeline("u2")
    for array, dim, factor in ((s.A, 1, 2), (s.B, 2, 4), (s.F, 1, 2), (s.F, 2, 4)):
        s.partition(array, dim=dim, partition_type=Partition.Cyclic, factor=factor)
    s.partition(s.G, dim=1, partition_type=Partition.Cyclic, factor=2)
    s.partition(s.G, dim=2, partition_type=Partition.Cyclic, factor=4)
    return s


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
def test_a_row_of_unknown_bank_leaves_the_columns_their_ports(simulator: str) -> None:
    """``F[k2, j]`` for all j: two banks a column, where it took all eight and made II=4."""
    module = _tiled().build(target="verilog", simulator=simulator)
    rng = np.random.default_rng(4)
    a, b = (rng.standard_normal((8, 8)).astype(np.float32) for _ in range(2))
    ours, theirs = np.zeros((8, 8), np.float32), np.zeros((8, 8), np.float32)
    module(a, b, ours)
    _tiled().build()(a, b, theirs)
    assert bits(ours) == bits(theirs)
    assert module.cycles == module.report.cycles
    second = loop_called(module.report, "k2*t2*u2")
    assert (second.ii, second.limit) == (1, "")


def strides(a: int32[16], b: int32[16]):
    for i in range(4):
        b[4 * i] = a[4 * i + 1]
        b[4 * i + 2] = a[4 * i + 3]


def test_a_stride_leaves_banks_out() -> None:
    """With 8 banks, 4 i + c is in two of them; their ports alone are there."""
    s = allo.customize(strides)
    s.pipeline("i")
    for array in (s.a, s.b):
        s.partition(array, dim=1, partition_type=Partition.Cyclic, factor=8)
    text = str(s.build(target="systemverilog"))
    read = {bank for bank in range(8) if f"a_{bank}_p0_addr" in text}
    written = {bank for bank in range(8) if f"b_{bank}_p0_we" in text}
    assert (read, written) == ({1, 3, 5, 7}, {0, 2, 4, 6})
    module = s.build(target="verilog", simulator="jit")
    a, b = np.arange(16, dtype=np.int32) * 3, np.full(16, -1, np.int32)
    module(a, b)
    np.testing.assert_array_equal(b, np.where(np.arange(16) % 2 == 0, a[np.arange(16) | 1], -1))
    assert module.cycles == module.report.cycles


def test_reads_of_a_known_row_are_named_by_their_bank() -> None:
    layout = "affine_map<(d0, d1) -> (d0 mod 2, d1, d0 floordiv 2, 0)>"
    kind = f"memref<8x4xi32, {layout}>"
    loads = "\n".join(
        f'%v{r} = affine.load %a[2 * %i + {r}, %k] : {kind} loc("rows.py":{r + 1}:1)'
        for r in (0, 2, 4)
    )
    text = function(
        f"""affine.for %k = 0 to 4 {{ affine.for %i = 0 to 2 {{
        {loads}
        %s = arith.addi %v0, %v2 : i32
        %t = arith.addi %s, %v4 : i32
        affine.store %t, %o[%k, %i] : memref<4x2xi32>
        }} {{loop_name = "i", pipeline_ii = 1 : ui32}} }} {{loop_name = "k"}}
        return""",
        {"a": (kind, "i32"), "o": ("memref<4x2xi32>", "i32")},
    )
    limit = loop_called(compile_design(text, "f").report, "k*i").limit
    assert limit.startswith("II=2: 3 reads of a (rows.py:1:1) need 2 cycles of bank 0's 2 ports")
