"""Whether two functions differ in names alone: each as a key, equal for those that do.

Values are numbered in the order in which they appear. Names of variables, loops and functions are left
out, and a call counts as one of the first function that is equal to its callee.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable

from .._mlir import ir
from .bounds import CHECKS
from .fifos import STREAM_OPS
from .locations import place_of
from .signature import callee_of, entry_of, functions_of, has_body

_NAMES = frozenset(("from", "to", "loop_name", "op_name", "name", "sym_name", "arg_names"))

_PLACED = frozenset((*CHECKS, *STREAM_OPS, "allo.print", "allo.assert"))
"""Operations that tell a run where they are."""


class Fingerprint:
    """A function as a key.

    Attributes:
        function: the function.
        key: equal for two functions that differ at most in names, and in what is asked for.
        constants: its ``arith.constant`` operations in order, where these may differ.
    """

    def __init__(
        self,
        function: ir.Operation,
        *,
        constants: bool = False,
        places: bool = False,
        same: Callable[[str], str] = str,
    ) -> None:
        """Read a function.

        Args:
            constants: let functions differ in the values of constants.
            places: whether operations that tell their places must have equal ones.
            same: the name that stands for a callee's; its own as a rule.
        """
        self.function = function
        self.constants: list[ir.Operation] = []
        self._any_constants = constants
        self._places = places
        self._same = same
        self._numbers: dict[ir.Value, int] = {}
        parts: list[Hashable] = []
        self._read(function, parts)
        self.key = tuple(parts)

    def _number(self, value: ir.Value) -> int:
        return self._numbers.setdefault(value, len(self._numbers))

    def _read(self, op: ir.Operation, parts: list[Hashable]) -> None:
        operands = tuple(self._number(value) for value in op.operands)
        results = tuple((self._number(value), value.type) for value in op.results)
        if self._any_constants and op.name == "arith.constant":
            self.constants.append(op)
            parts.append((op.name, results))
            return
        place = place_of(op) if self._places and op.name in _PLACED else None
        parts.append((op.name, operands, results, self._named(op), place, len(op.regions)))
        for region in op.regions:
            for block in region.blocks:
                parts.append(tuple((self._number(a), a.type) for a in block.arguments))
                for inner in block.operations:
                    self._read(inner.operation, parts)
                parts.append(None)

    def _named(self, op: ir.Operation) -> tuple[tuple[str, Hashable], ...]:
        """The attributes that mean something; the ``name`` of a global does."""
        found: list[tuple[str, Hashable]] = []
        for name in op.attributes:
            if name == "callee":
                found.append((name, self._same(callee_of(op))))
            elif name not in _NAMES or (name == "name" and op.name == "memref.get_global"):
                found.append((name, op.attributes[name]))
        return tuple(found)


def equal_functions(module: ir.Module) -> dict[str, str]:
    """For every function one that differs from it in names alone; equal functions have the same."""
    equals = _Equals(functions_of(module))
    return {name: equals.of(name) for name in equals.functions}


class _Equals:
    """Functions and what stands for each; no closure, for a cycle would keep the module's context."""

    def __init__(self, functions: dict[str, ir.Operation]) -> None:
        self.functions = functions
        self._sizes = Counter(_size(function) for function in functions.values())
        self._known: dict[str, str] = {}
        self._first: dict[Hashable, str] = {}

    def of(self, name: str) -> str:
        if name in self._known:
            return self._known[name]
        self._known[name] = name
        function = self.functions.get(name)
        if function is not None and has_body(function) and self._sizes[_size(function)] > 1:
            key = Fingerprint(function, same=self.of).key
            self._known[name] = self._first.setdefault(key, name)
        return self._known[name]


def _size(function: ir.Operation) -> Hashable:
    """Equal for functions that may be equal; costs little."""
    count = len(entry_of(function).operations) if has_body(function) else 0
    return function.attributes["function_type"], count
