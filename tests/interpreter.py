"""A small reference interpreter of the core IR: slow, simple, and independent of every back end.

Integers are exact Python ints wrapped to the type's width, f32 is computed with NumPy scalars.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from allo.dialects._mlir import ir
from allo.dialects.affine.maps import bound_map, condition_of
from allo.dialects.core.expressions import OPERATORS, fold, leaves


def evaluate(expr: ir.AffineExpr, dims: Sequence[int], symbols: Sequence[int] = ()) -> int:
    """The value of an affine expression at integer dims and symbols."""
    leaf = leaves(dims.__getitem__, symbols.__getitem__, int)
    return fold(expr, leaf, lambda operator, a, b: OPERATORS[operator](a, b))


def run_module(module: ir.Module, top: str, args: list[Any]) -> list[Any]:
    """Run function ``top``; arrays are NumPy object or float arrays and are changed in place."""
    with module.context:
        return Machine(module).call(top, args)


class Machine:
    def __init__(self, module: ir.Module) -> None:
        self.functions = {}
        self.globals: dict[str, np.ndarray] = {}
        for op in module.body.operations:
            operation = op.operation
            name = ir.StringAttr(operation.attributes["sym_name"]).value
            if operation.name == "func.func":
                self.functions[name] = operation
            else:
                self.globals[name] = self._constant(operation)

    def call(self, name: str, args: list[Any]) -> list[Any]:
        block = self.functions[name].regions[0].blocks[0]
        env = dict(zip(block.arguments, args, strict=True))
        return self.block(block, env) or []

    def block(self, block: ir.Block, env: dict) -> list[Any] | None:
        for child in block.operations:
            op = child.operation
            if op.name in ("func.return", "scf.condition", "affine.yield", "scf.yield"):
                return [env[v] for v in op.operands]
            self.operation(op, env)
        return None

    def operation(self, op: ir.Operation, env: dict) -> None:
        method = getattr(self, op.name.replace(".", "_"), None)
        if method is None:
            operands = [env[v] for v in op.operands]
            env[op.result] = compute(op, operands)
            return
        method(op, env)

    # --- memory

    def _constant(self, op):
        kind = ir.MemRefType(ir.TypeAttr(op.attributes["type"]).value)
        made = blank(kind)
        values = ir.DenseElementsAttr(op.attributes["initial_value"])
        for position, index in enumerate(np.ndindex(*made.shape)):
            made[index] = values[position if not values.is_splat else 0]
        return made

    def memref_get_global(self, op, env):
        env[op.result] = self.globals[ir.FlatSymbolRefAttr(op.attributes["name"]).value]

    def memref_alloc(self, op, env):
        env[op.result] = blank(ir.MemRefType(op.result.type))

    def indices(self, op, env):
        return self.map(bound_map(op), env)

    def map(self, bound, env):
        dims = [env[v] for v in bound.dims]
        symbols = [env[v] for v in bound.symbols]
        return tuple(evaluate(e, dims, symbols) for e in bound.map.results)

    def access(self, array, index):
        for position, extent in zip(index, array.shape, strict=True):
            assert 0 <= position < extent, f"index {index} outside {array.shape}"
        return index

    def affine_load(self, op, env):
        array = env[op.operands[0]]
        env[op.result] = array[self.access(array, self.indices(op, env))]

    def affine_store(self, op, env):
        array = env[op.operands[1]]
        array[self.access(array, self.indices(op, env))] = env[op.operands[0]]

    def memref_load(self, op, env):
        array = env[op.operands[0]]
        env[op.result] = array[self.access(array, tuple(env[v] for v in list(op.operands)[1:]))]

    def memref_store(self, op, env):
        array = env[op.operands[1]]
        array[self.access(array, tuple(env[v] for v in list(op.operands)[2:]))] = env[
            op.operands[0]
        ]

    def memref_copy(self, op, env):
        env[op.operands[1]][...] = env[op.operands[0]]

    def linalg_fill(self, op, env):
        env[op.operands[1]][...] = env[op.operands[0]]

    # --- control

    def func_call(self, op, env):
        name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        results = self.call(name, [env[v] for v in op.operands])
        env.update(zip(op.results, results, strict=True))

    def affine_for(self, op, env):
        low = max(self.map(bound_map(op, "lowerBoundMap"), env))
        high = min(self.map(bound_map(op, "upperBoundMap"), env))
        block = op.regions[0].blocks[0]
        for iv in range(low, high, ir.IntegerAttr(op.attributes["step"]).value):
            env[block.arguments[0]] = iv
            self.block(block, env)

    def scf_for(self, op, env):
        low, high, step = (env[v] for v in op.operands)
        block = op.regions[0].blocks[0]
        for iv in range(low, high, step):
            env[block.arguments[0]] = iv
            self.block(block, env)

    def affine_if(self, op, env):
        condition = condition_of(op)
        rows = self.map(condition.exprs, env)
        holds = all(r == 0 if e else r >= 0 for r, e in zip(rows, condition.equal, strict=True))
        for block in op.regions[0 if holds else 1].blocks:
            self.block(block, env)

    def scf_if(self, op, env):
        for block in op.regions[0 if env[op.operands[0]] else 1].blocks:
            self.block(block, env)

    def affine_apply(self, op, env):
        env[op.result] = self.map(bound_map(op), env)[0]

    def arith_constant(self, op, env):
        attribute = op.attributes["value"]
        if isinstance(attribute, ir.FloatAttr):
            env[op.result] = np.float32(attribute.value)
        else:
            env[op.result] = wrap(ir.IntegerAttr(attribute).value, op.result.type)


def blank(kind: ir.MemRefType) -> np.ndarray:
    if isinstance(kind.element_type, ir.F32Type):
        return np.full(list(kind.shape), np.nan, dtype=np.float32)
    return np.zeros(list(kind.shape), dtype=object)


def wrap(value: int, kind: ir.Type) -> int:
    if not isinstance(kind, ir.IntegerType):
        return value
    value &= (1 << kind.width) - 1
    return value - (1 << kind.width) if value >> (kind.width - 1) else value


_FLOAT = {
    "arith.addf": np.add,
    "arith.mulf": np.multiply,
    "arith.subf": np.subtract,
    "arith.divf": np.divide,
    "arith.maximumf": np.maximum,
}
_INTEGER = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.maxsi": max,
    "arith.minsi": min,
    "arith.xori": lambda a, b: a ^ b,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.shli": lambda a, b: a << b,
    "arith.floordivsi": lambda a, b: a // b,
    "arith.remsi": lambda a, b: int(math.fmod(a, b)),
}
_COMPARE = [
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
]


def compute(op: ir.Operation, operands: list[Any]) -> Any:
    name, kind = op.name, op.results[0].type
    if name in _FLOAT:
        return np.float32(_FLOAT[name](*operands))
    if name in _INTEGER:
        return wrap(_INTEGER[name](*operands), kind)
    if name == "arith.cmpi":
        predicate = ir.IntegerAttr(op.attributes["predicate"]).value
        if predicate < 6:
            return int(_COMPARE[predicate](*operands))
    if name == "arith.select":
        return operands[1] if operands[0] else operands[2]
    if name == "arith.extui":
        return operands[0] & ((1 << op.operands[0].type.width) - 1)
    if name in ("arith.extsi", "arith.trunci", "arith.index_cast"):
        return wrap(operands[0], kind)
    raise NotImplementedError(name)


def copied(args: list[Any]) -> list[Any]:
    """Arguments of their own for a second run."""
    return copy.deepcopy(args)
