"""What the calls of a function give its index arguments, so that these are no wider than they need.

A process gets its coordinates as arguments, a function that works on a slice its offset; both are
small numbers made of loops and constants. An argument of a function that nothing calls may be any index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .._mlir import ir
from ..checked import module_pass
from ..core.signature import callee_of, function_type, functions_of, has_body
from .loops import is_affine_loop, is_loop, spec_of, walk
from .maps import BoundMap, bound_map

Range = tuple[int, int]
INDEX_RANGE: Range = (-(1 << 63), (1 << 63) - 1)
NARROW_RANGE: Range = (-(1 << 31), (1 << 31) - 1)
NATURAL_RANGE: Range = (0, (1 << 31) - 1)
ATTRIBUTE = "index_ranges"


def within(values: Range, limits: Range) -> bool:
    """Whether every value of a range is in another."""
    return limits[0] <= values[0] and values[1] <= limits[1]


@module_pass
def settle_index_arguments(module: ir.Module) -> None:
    """Mark every called function with the ranges of its index arguments.

    There are three ranges (any index, 32 bits, 31 bits without a sign), so that functions that differ
    in the numbers they are given stay alike. Before and after: upstream dialects.
    """
    functions = functions_of(module)
    if not any(_index_positions(f) for f in functions.values()):
        return
    found: dict[str, dict[int, Range]] = {}
    with module.context:
        for name in reversed(_callees_first(functions)):
            function = functions[name]
            ranges = _widened(found.get(name, {}))
            _mark(function, ranges)
            arguments = function.regions[0].blocks[0].arguments if has_body(function) else []
            known = {arguments[p]: r for p, r in ranges.items()} if has_body(function) else {}
            for callee, given in _Calls(known).of(function):
                _join(found.setdefault(callee, {}), given)


def index_ranges(function: ir.Operation) -> dict[int, Range]:
    """The ranges marked on a function, by argument; an index argument without one may be any index."""
    if ATTRIBUTE not in function.attributes:
        return {}
    return ranges_of(list(ir.DenseI64ArrayAttr(function.attributes[ATTRIBUTE])))


def ranges_of(numbers: list[int]) -> dict[int, Range]:
    """The same of the attribute's numbers: position, least and greatest value of each."""
    rows = zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True)
    return {position: (low, high) for position, low, high in rows}


def _mark(function: ir.Operation, ranges: dict[int, Range]) -> None:
    if ranges:
        numbers = [n for p, (low, high) in sorted(ranges.items()) for n in (p, low, high)]
        function.attributes[ATTRIBUTE] = ir.DenseI64ArrayAttr.get(numbers)


def _widened(ranges: dict[int, Range]) -> dict[int, Range]:
    kinds = (NATURAL_RANGE, NARROW_RANGE, INDEX_RANGE)
    return {p: next(k for k in kinds if within(r, k)) for p, r in ranges.items()}


def _join(known: dict[int, Range], given: dict[int, Range]) -> None:
    for position, (low, high) in given.items():
        before = known.get(position, (low, high))
        known[position] = min(before[0], low), max(before[1], high)


def _index_positions(function: ir.Operation) -> list[int]:
    inputs = function_type(function).inputs
    return [p for p, t in enumerate(inputs) if isinstance(t, ir.IndexType)]


def _callees_first(functions: dict[str, ir.Operation]) -> list[str]:
    order: dict[str, None] = {}

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in order or name in above or name not in functions:
            return
        for op in walk(functions[name]):
            if op.name == "func.call":
                visit(callee_of(op), (*above, name))
        order[name] = None

    for name in functions:
        visit(name, ())
    return list(order)


class _Calls:
    """The calls of a function with the ranges of their index operands."""

    def __init__(self, known: dict[ir.Value, Range]) -> None:
        self._known = known

    def of(self, function: ir.Operation) -> Iterator[tuple[str, dict[int, Range]]]:
        for op in walk(function):
            if op.name == "func.call":
                operands = enumerate(op.operands)
                indices = ((p, v) for p, v in operands if isinstance(v.type, ir.IndexType))
                yield callee_of(op), {p: self._range(v) for p, v in indices}
            if is_loop(op):
                self._known[op.regions[0].blocks[0].arguments[0]] = self._counter(op)
            elif len(op.results) == 1 and isinstance(op.results[0].type, ir.IndexType):
                value = self._value(op)
                fits = value is not None and within(value, INDEX_RANGE)
                self._known[op.results[0]] = value if fits and value else INDEX_RANGE

    def _range(self, value: ir.Value) -> Range:
        return self._known.get(value, INDEX_RANGE)

    def _counter(self, loop: ir.Operation) -> Range:
        if not is_affine_loop(loop):
            low, high = self._range(loop.operands[0])[0], self._range(loop.operands[1])[1]
            return low, max(low, high - 1)
        spec = spec_of(loop)
        low = max(low for low, _ in self._mapped(spec.lower))
        return low, max(low, min(high for _, high in self._mapped(spec.upper)) - 1)

    def _mapped(self, bound: BoundMap) -> list[Range]:
        return [self._expression(e, bound) for e in bound.results]

    def _expression(self, expr: ir.AffineExpr, bound: BoundMap) -> Range:
        return bound.fold(expr, self._range, lambda c: (c, c), _combined)

    def _value(self, op: ir.Operation) -> Range | None:
        if op.name == "arith.constant":
            number = ir.IntegerAttr(op.attributes["value"]).value
            return number, number
        if op.name in ("arith.index_cast", "arith.index_castui"):
            width = ir.IntegerType(op.operands[0].type).width
            if op.name == "arith.index_castui":
                return 0, (1 << width) - 1
            return -(1 << (width - 1)), (1 << (width - 1)) - 1
        if op.name == "affine.apply":
            return self._mapped(bound_map(op))[0]
        operator = _NAMES.get(op.name)
        if operator is None:
            return None
        return _OPERATORS[operator](self._range(op.operands[0]), self._range(op.operands[1]))


def _combined(operator: str, a: Range, b: Range) -> Range:
    if not within(a, INDEX_RANGE) or (operator in _DIVISIONS and b[0] <= 0):
        return INDEX_RANGE
    return _OPERATORS[operator](a, b)


def _multiply(a: Range, b: Range) -> Range:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _quotients(a: Range, b: Range) -> Range:
    corners = [x // y for x in a for y in b] + [-(-x // y) for x in a for y in b]
    return min(corners), max(corners)


_DIVISIONS = ("mod", "floordiv", "ceildiv")
_OPERATORS: dict[str, Callable[[Range, Range], Range]] = {
    "+": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "-": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "*": _multiply,
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "mod": lambda a, b: (0, b[1] - 1),
    "floordiv": _quotients,
    "ceildiv": _quotients,
}
_NAMES = {
    "arith.addi": "+",
    "arith.subi": "-",
    "arith.muli": "*",
    "arith.minsi": "min",
    "arith.maxsi": "max",
}
