"""Alias classes: values that are one array, or one variable, across calls and returns.

Every use of an array has the same type (``docs/internals/core_ir.md``), so a change of an array's layout
or shape is a change of the whole class.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from .._mlir import ir
from .effects import VIEWS
from .signature import callee_of, symbol


class AliasClasses:
    """Union-find over the array (and stream handle) values of a module."""

    def __init__(self, module: ir.Operation) -> None:
        self._parent: dict[Hashable, Hashable] = {}
        self._values: list[ir.Value] = []
        self._functions: dict[str, ir.Operation] = {}
        self._globals: dict[str, ir.Operation] = {}
        self.views: list[ir.Operation] = []
        for op in module.regions[0].blocks[0].operations:
            operation = op.operation
            if operation.name == "func.func":
                self._functions[symbol(operation)] = operation
            elif operation.name == "memref.global":
                self._globals[symbol(operation)] = operation
        for function in self._functions.values():
            self._visit_function(function)

    @property
    def functions(self) -> dict[str, ir.Operation]:
        """The functions of the module by name."""
        return self._functions

    def members(self, value: ir.Value) -> list[ir.Value]:
        """Every value of the module that is the same array as ``value``, itself included."""
        root = self._find(value)
        return [v for v in self._values if self._find(v) == root]

    def globals_of(self, value: ir.Value) -> list[ir.Operation]:
        """The globals that hold the array."""
        root = self._find(value)
        return [g for n, g in self._globals.items() if self._find(f"@{n}") == root]

    def taken_views(self, value: ir.Value) -> list[ir.Operation]:
        """Views of the array, and views that are the array."""
        root = self._find(value)
        return [
            op for op in self.views if root in (self._find(op.operands[0]), self._find(op.result))
        ]

    def _visit_function(self, function: ir.Operation) -> None:
        if not len(function.regions[0].blocks):
            return
        for argument in function.regions[0].blocks[0].arguments:
            self._note(argument)
        function.walk(lambda op: self._visit(op.operation), ir.WalkOrder.PRE_ORDER)

    def _visit(self, op: ir.Operation) -> ir.WalkResult:
        for result in op.results:
            if _is_array(result):
                self._note(result)
        if op.name == "func.call":
            self._visit_call(op)
        elif op.name == "memref.get_global":
            name = ir.FlatSymbolRefAttr(op.attributes["name"]).value
            self._union(op.result, f"@{name}")
        elif op.name in VIEWS:
            self.views.append(op)
        elif op.name == "arith.select" and _is_array(op.result):
            self._union(op.result, op.operands[1])
            self._union(op.result, op.operands[2])
        return ir.WalkResult.ADVANCE

    def _visit_call(self, op: ir.Operation) -> None:
        callee = self._functions.get(callee_of(op))
        if callee is None or not len(callee.regions[0].blocks):
            return
        block = callee.regions[0].blocks[0]
        self._join(op.operands, block.arguments)
        operations = block.operations
        returned = operations[len(operations) - 1].operation
        self._join(op.results, returned.operands)

    def _join(self, left: Iterable[ir.Value], right: Iterable[ir.Value]) -> None:
        for a, b in zip(left, right, strict=True):
            if _is_array(a) or isinstance(a.type, ir.IndexType):
                self._union(a, b)

    def _note(self, value: ir.Value) -> None:
        if value not in self._parent:
            self._parent[value] = value
            self._values.append(value)

    def _find(self, item: Hashable) -> Hashable:
        root = item
        while (above := self._parent.setdefault(root, root)) != root:
            root = above
        while self._parent[item] != root:
            self._parent[item], item = root, self._parent[item]
        return root

    def _union(self, a: Hashable, b: Hashable) -> None:
        for item in (a, b):
            if isinstance(item, ir.Value):
                self._note(item)
        self._parent[self._find(a)] = self._find(b)


class VariableClasses(AliasClasses):
    """Union-find over the variables of a module, scalars included.

    Scalars are passed by value, so these are one variable: the argument of a call and the parameter, what a
    function returns and the result of its call, and a scalar that is assigned once and what it is
    assigned.
    """

    def _visit(self, op: ir.Operation) -> ir.WalkResult:
        if op.name == "memref.alloc" and ir.MemRefType(op.result.type).rank == 0:
            self._visit_scalar(op.result)
        return super()._visit(op)

    def _visit_scalar(self, scalar: ir.Value) -> None:
        users = [use.owner.operation for use in scalar.uses]
        stores = [op for op in users if op.name in ("affine.store", "memref.store")]
        loads = [op for op in users if op.name in ("affine.load", "memref.load")]
        if len(stores) != 1 or len(stores) + len(loads) != len(users):
            return
        self._union(scalar, stores[0].operands[0])
        for op in loads:
            self._union(scalar, op.result)

    def _join(self, left: Iterable[ir.Value], right: Iterable[ir.Value]) -> None:
        for a, b in zip(left, right, strict=True):
            self._union(a, b)


def has_views(module: ir.Module) -> bool:
    """Whether any operation of the module looks at an array through another shape or window."""
    found = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found = found or op.name in VIEWS
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    module.operation.walk(lambda op: visit(op.operation), ir.WalkOrder.PRE_ORDER)
    return found


def _is_array(value: ir.Value) -> bool:
    return isinstance(value.type, ir.MemRefType)
