"""Scalar functions as the shared pass expands them: on the host's JIT, and as hardware."""

from __future__ import annotations

import ctypes
import itertools
from dataclasses import dataclass

import numpy as np

from allo.backend.rtl.netlist.operations import Constant, Operation
from allo.backend.rtl.operators import Operator, OperatorLibrary
from allo.backend.rtl.operators.modules import inline_operations
from allo.dialects._mlir import ExecutionEngine, ir, make_context, run_passes
from allo.dialects.passes.define_arith import define_arith
from allo.dialects.passes.expand_math import expand_math

_TO_LLVM = (
    "builtin.module(convert-scf-to-cf,convert-math-to-llvm,convert-arith-to-llvm,"
    "expand-strided-metadata,finalize-memref-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,"
    "reconcile-unrealized-casts)"
)
_WIRES = {"arith.extsi": "s", "arith.extui": "u"}


def _loop(op: str, count: int, kind: str) -> str:
    names = [f"%a{i}" for i in range(count)]
    arguments = ", ".join(f"{n}: memref<?x{kind}>" for n in (*names, "%r"))
    loads = "\n".join(f"{n}v = memref.load {n}[%i] : memref<?x{kind}>" for n in names)
    values = ", ".join(f"{n}v" for n in names)
    return f"""
func.func @f({arguments}) attributes {{llvm.emit_c_interface}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %r, %c0 : memref<?x{kind}>
  scf.for %i = %c0 to %n step %c1 {{
    {loads}
    %value = {op} {values} : {kind}
    memref.store %value, %r[%i] : memref<?x{kind}>
  }}
  return
}}"""


class _Descriptor(ctypes.Structure):
    _fields_ = [
        ("allocated", ctypes.c_void_p),
        ("aligned", ctypes.c_void_p),
        ("offset", ctypes.c_int64),
        ("size", ctypes.c_int64),
        ("stride", ctypes.c_int64),
    ]

    def __init__(self, array: np.ndarray) -> None:
        super().__init__(array.ctypes.data, array.ctypes.data, 0, len(array), 1)


class HostFunction:
    """An expanded function, compiled by LLVM, on whole arrays."""

    def __init__(self, op: str, operands: int = 1, kind: str = "f32") -> None:
        with make_context(), ir.Location.unknown():
            module = ir.Module.parse(_loop(op, operands, kind))
            assert expand_math(module) == 1
            define_arith(module)
            run_passes(module, "builtin.module(canonicalize,cse)")
            run_passes(module, _TO_LLVM)
            self.engine = ExecutionEngine(module, opt_level=2)

    def __call__(self, *operands: np.ndarray) -> np.ndarray:
        arrays = [np.ascontiguousarray(x) for x in operands]
        result = np.zeros_like(arrays[0])
        descriptors = [_Descriptor(x) for x in (*arrays, result)]
        pointers = [ctypes.c_void_p(ctypes.addressof(d)) for d in descriptors]
        packed = (ctypes.c_void_p * len(pointers))(*(ctypes.addressof(p) for p in pointers))
        entry = self.engine.raw_lookup("_mlir_ciface_f")
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(entry)(ctypes.addressof(packed))
        return result


@dataclass(frozen=True)
class Hardware:
    """A function as one combinational operator, and what its parts are."""

    operator: Operator
    parts: tuple[Operator, ...]
    depth: int


def hardware_function(
    op: str, library: OperatorLibrary, operands: int = 1, kind: str = "f32"
) -> Hardware:
    """The expansion with each operation replaced by its library operator, wired together.

    ``depth`` is the number of cycles through the units on the longest path, chaining aside.
    """
    values = ", ".join(f"%{'abcdefgh'[i]}: {kind}" for i in range(operands))
    names = ", ".join(f"%{'abcdefgh'[i]}" for i in range(operands))
    text = f"func.func @f({values}) -> {kind} {{ %r = {op} {names} : {kind}\n return %r : {kind} }}"
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        assert expand_math(module) == 1
        run_passes(module, "builtin.module(canonicalize,cse)")
        return _assemble(module, library)


def _assemble(module: ir.Module, library: OperatorLibrary) -> Hardware:
    function = next(iter(module.body.operations))
    block = function.regions[0].blocks[0]
    counter = itertools.count()
    body: list[Operation] = []
    names = {arg: f"%{'abcdefgh'[i]}" for i, arg in enumerate(block.arguments)}
    constants: dict[ir.Value, int] = {}
    ready = dict.fromkeys(block.arguments, 0)
    parts: list[Operator] = []
    result = ""
    for op in block.operations:
        if op.operation.name == "func.return":
            result = names[op.operands[0]]
            continue
        value = op.results[0]
        if op.operation.name == "arith.constant":
            names[value] = f"%t{next(counter)}"
            constants[value] = _constant(op.attributes["value"])
            body.append(Constant(names[value], constants[value], int(_bits(value.type)[1:])))
            ready[value] = 0
            continue
        operator = _operator(op, library, constants)
        parts.append(operator)
        made, name = inline_operations(
            operator.netlist, [names[o] for o in op.operands], lambda: f"%t{next(counter)}"
        )
        body += made
        names[value] = name
        ready[value] = max(ready[o] for o in op.operands) + operator.latency
    widths = [32 if str(a.type) == "f32" else 64 for a in block.arguments]
    output = 32 if widths[0] == 32 else 64

    def emit(operands: object, fresh: object) -> tuple[list[Operation], str]:
        return body, result

    whole = Operator(
        "function", 0, 0.0, parts[0].resources, False, tuple(widths), output, emit=emit
    )
    return Hardware(whole, tuple(parts), max(ready.values()))


def _constant(attribute: ir.Attribute) -> int:
    """The bits of a constant, signed as MLIR prints them."""
    if isinstance(attribute, ir.FloatAttr):
        width = 4 if str(attribute.type) == "f32" else 8
        return int(np.array(attribute.value, f"f{width}").view(f"i{width}"))
    text = str(attribute).split(" : ")[0]
    return {"true": -1, "false": 0}[text] if text in ("true", "false") else int(text)


def _bits(kind: ir.Type) -> str:
    return {"f32": "i32", "f64": "i64"}.get(str(kind), str(kind))


def _operator(op: ir.OpView, library: OperatorLibrary, constants: dict[ir.Value, int]) -> Operator:
    kinds = tuple(str(o.type) for o in op.operands)
    attributes: dict[str, object] = {}
    if "predicate" in op.attributes:
        attributes["predicate"] = ir.IntegerAttr(op.attributes["predicate"]).value
    known = tuple(constants.get(o) for o in op.operands)
    if any(k is not None for k in known):
        attributes["constants"] = known
    if op.operation.name == "arith.muli":
        attributes["extended"] = tuple(_extension(o) for o in op.operands)
    return library.find(op.operation.name, kinds, str(op.results[0].type), attributes)


def _extension(value: ir.Value) -> tuple[str, int] | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name not in _WIRES:
        return None
    return _WIRES[owner.name], ir.IntegerType(owner.operands[0].type).width
