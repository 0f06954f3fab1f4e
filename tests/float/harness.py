"""Ways to run one operator: as a netlist in Python, or as compiled hardware on arrays."""

from __future__ import annotations

import ctypes
import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from allo.backend.rtl._circt import parse_hw, run_hw_passes
from allo.backend.rtl.float.native import with_square_roots
from allo.backend.rtl.netlist.modules import Module, unit_ports
from allo.backend.rtl.operators import Operator, OperatorLibrary
from allo.backend.rtl.operators.netlist import evaluate
from allo.backend.sim.engines.arc.recipe import ARC_PASSES
from allo.dialects._mlir import ExecutionEngine, ir, run_passes

_MODULE = ("lower-seq-compreg-ce",)
_TO_MODEL = (
    *(f"hw.module({name})" for name in _MODULE),
    *ARC_PASSES,
)
_TO_LLVM = ("lower-arc-to-llvm", "canonicalize", "cse")


def assert_same(found: np.ndarray, expected: np.ndarray | list[int], *operands: np.ndarray) -> None:
    """All elements equal, or the first few that are not."""
    wanted = np.array(expected, dtype=np.uint64)
    bad = np.flatnonzero(found != wanted)
    shown = [[hex(int(x[i])) for x in (*operands, wanted, found)] for i in bad[:4]]
    assert not len(bad), f"{len(bad)} of {len(found)} differ: operands, expected, found {shown}"


def netlist_of(
    library: OperatorLibrary,
    op: str,
    operand_types: tuple[str, ...],
    result_type: str,
    attributes: dict[str, Any] | None = None,
) -> Callable[..., int]:
    """The operator as a Python function on bit vectors, evaluated node by node."""
    operator = library.find(op, operand_types, result_type, attributes)
    return lambda *operands: run_operator(operator, operands)


def run_operator(operator: Operator, operands: tuple[int, ...]) -> int:
    """Result bits for one set of operands."""
    assert operator.netlist is not None
    return evaluate(operator.netlist, dict(zip("abcdefgh", operands, strict=False)))


def public_module(operator: Operator, kind: str = "rtl") -> tuple[str, str]:
    """(text, name) of a public module around an operator, registered or not."""
    if operator.unit_module is not None:
        return replace(operator.unit_module(kind), private=False).text(), operator.module
    assert operator.emit is not None
    counter = itertools.count()
    names = "abcdefgh"[: len(operator.operand_widths)]
    made, result = operator.emit([f"%{n}" for n in names], lambda: f"%t{next(counter)}")
    inputs = list(zip(names, operator.operand_widths, strict=True))
    ports = unit_ports(inputs, operator.result_width, result)
    return Module("unit", ports, made, private=False).text(), "unit"


class CompiledUnit:
    """An operator compiled by CIRCT's arc and LLVM, clocked over arrays of operands.

    Operands and results are at most 64 bits and travel as ``uint64``.
    """

    def __init__(self, operator: Operator, kind: str = "rtl") -> None:
        self.operator = operator
        self.latency = operator.latency
        text, name = public_module(operator, kind)
        module = parse_hw(text)
        run_hw_passes(module, _TO_MODEL)
        model = str(module)
        found = re.search(r"storageBytes (\d+)", model)
        assert found
        self.storage = np.zeros(int(found[1]) // 8 + 2, dtype=np.uint64)
        self.offsets = {
            port: int(offset)
            for port, offset in re.findall(
                r'arc\.root_(?:in|out)put "(\w+)", %arg0 \{offset = (\d+)', model
            )
        }
        run_hw_passes(module, _TO_LLVM)
        body = with_square_roots(str(module)).strip().removeprefix("module {").removesuffix("}")
        self.engine = self._compile(f"module {{\n{body}\n{self._driver(name)}\n}}")

    def _driver(self, name: str) -> str:
        """A loop that clocks the model once for each set of operands."""
        names = "abcdefgh"[: len(self.operator.operand_widths)]
        arguments = ", ".join(f"%{n}: !llvm.ptr" for n in names)
        stores = []
        ports = list(zip(names, self.operator.operand_widths, strict=True))
        if self.operator.initiation_interval > 1:
            ports.append(("go", 1))
            arguments += ", %go: !llvm.ptr"
        for port, width in ports:
            if port not in self.offsets:
                continue
            cut = f"%{port}v = llvm.trunc %{port}w : i64 to i{width}"
            if width == 64:
                cut = f"%{port}v = llvm.bitcast %{port}w : i64 to i64"
            stores += [
                f"%{port}p = llvm.getelementptr %{port}[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64",
                f"%{port}w = llvm.load %{port}p : !llvm.ptr -> i64",
                cut,
                *self._store(port, f"%{port}v", f"i{width}"),
            ]
        width = self.operator.result_width
        widen = f"%wide = llvm.zext %out : i{width} to i64"
        if width == 64:
            widen = "%wide = llvm.bitcast %out : i64 to i64"
        clocked = "clk" in self.offsets
        enable = (
            [
                "%cep = llvm.getelementptr %ce[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i8",
                "%cew = llvm.load %cep : !llvm.ptr -> i8",
                "%cev = llvm.trunc %cew : i8 to i1",
                *self._store("ce", "%cev", "i1"),
                *self._store("clk", "%one", "i1"),
            ]
            if clocked
            else []
        )
        fall = (
            [
                *self._store("clk", "%zero", "i1", "2"),
                f"llvm.call @{name}_eval(%s) : (!llvm.ptr) -> ()",
            ]
            if clocked
            else []
        )
        loop = "\n".join(
            [
                *stores,
                *enable,
                f"llvm.call @{name}_eval(%s) : (!llvm.ptr) -> ()",
                f"%rp = llvm.getelementptr %s[{self.offsets['r']}] : (!llvm.ptr) -> !llvm.ptr, i8",
                f"%out = llvm.load %rp : !llvm.ptr -> i{width}",
                widen,
                "%to = llvm.getelementptr %r[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64",
                "llvm.store %wide, %to : i64, !llvm.ptr",
                *fall,
            ]
        )
        return f"""
llvm.func @drive(%s: !llvm.ptr, {arguments}, %ce: !llvm.ptr, %r: !llvm.ptr, %n: i64)
    attributes {{llvm.emit_c_interface}} {{
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %one = llvm.mlir.constant(true) : i1
  %zero = llvm.mlir.constant(false) : i1
  llvm.br ^head(%c0 : i64)
^head(%i: i64):
  %more = llvm.icmp "ult" %i, %n : i64
  llvm.cond_br %more, ^body, ^end
^body:
  {loop}
  %next = llvm.add %i, %c1 : i64
  llvm.br ^head(%next : i64)
^end:
  llvm.return
}}"""

    def _store(self, port: str, value: str, kind: str, tag: str = "") -> list[str]:
        place = f"%{port}s{tag}"
        offset = self.offsets[port]
        return [
            f"{place} = llvm.getelementptr %s[{offset}] : (!llvm.ptr) -> !llvm.ptr, i8",
            f"llvm.store {value}, {place} : {kind}, !llvm.ptr",
        ]

    @staticmethod
    def _compile(text: str) -> ExecutionEngine:
        context = ir.Context()
        with context, ir.Location.unknown():
            module = ir.Module.parse(text)
            run_passes(module, "builtin.module(reconcile-unrealized-casts)")
            return ExecutionEngine(module, opt_level=2)

    def clock(self, operands: tuple[np.ndarray, ...], enable: np.ndarray) -> np.ndarray:
        """The output after each clock edge, the operands and enable of that edge given."""
        count = len(enable)
        arrays = [np.ascontiguousarray(x, dtype=np.uint64) for x in operands]
        result = np.zeros(count, dtype=np.uint64)
        enable = np.ascontiguousarray(enable, dtype=np.uint8)
        values = [ctypes.c_void_p(x.ctypes.data) for x in (self.storage, *arrays, enable, result)]
        arguments = [*values, ctypes.c_int64(count)]
        packed = (ctypes.c_void_p * len(arguments))(
            *(ctypes.cast(ctypes.pointer(value), ctypes.c_void_p) for value in arguments)
        )
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.engine.raw_lookup("drive"))
        function(ctypes.cast(packed, ctypes.c_void_p))
        return result

    def __call__(self, *operands: np.ndarray) -> np.ndarray:
        """Results for arrays of operands, one a clock, or as many clocks apart as the unit asks."""
        interval = self.operator.initiation_interval
        if interval > 1:
            return self._iterated(operands, interval)
        skip = max(0, self.latency - 1)
        padded = tuple(
            np.concatenate([np.asarray(x, dtype=np.uint64), np.zeros(skip, dtype=np.uint64)])
            for x in operands
        )
        return self.clock(padded, np.ones(len(padded[0]), dtype=np.uint8))[skip:]

    def _iterated(self, operands: tuple[np.ndarray, ...], interval: int) -> np.ndarray:
        """The same of a unit that is told when operands come; other operands are there in between."""
        count = len(operands[0])
        clocks = count * interval + self.latency
        given = [np.full(clocks, 0x3C5A_3C5A_3C5A_3C5A, np.uint64) for _ in operands]
        go = np.zeros(clocks, np.uint64)
        starts = np.arange(count) * interval
        go[starts] = 1
        for port, values in zip(given, operands, strict=True):
            port[starts] = values
        found = self.clock((*given, go), np.ones(clocks, dtype=np.uint8))
        return found[starts + self.latency - 1]
