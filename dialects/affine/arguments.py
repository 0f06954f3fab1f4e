"""What the calls of a function give its index arguments, so that these are no wider than they need.

A process gets its coordinates as arguments, a function that works on a slice its offset; both are
small numbers made of loops and constants. An argument of a function that nothing calls may be any index.
"""

from __future__ import annotations

from collections.abc import Iterator

from .._mlir import ir
from ..checked import module_pass
from ..core.signature import callee_of, function_type, functions_of, has_body
from ..ranges.interval import INDEX_RANGE, Interval, hull, of_bits, within
from ..ranges.values import interval_of
from .loops import walk

NARROW_RANGE = of_bits(32)
NATURAL_RANGE = of_bits(31, signed=False)
ATTRIBUTE = "index_ranges"


@module_pass
def settle_index_arguments(module: ir.Module) -> None:
    """Mark every called function with the ranges of its index arguments.

    There are three ranges (any index, 32 bits, 31 bits without a sign), so that functions that differ
    in the numbers they are given stay alike. Before and after: upstream dialects.
    """
    functions = functions_of(module)
    if not any(_index_positions(f) for f in functions.values()):
        return
    found: dict[str, dict[int, Interval]] = {}
    with module.context:
        for name in reversed(callees_first(functions)):
            function = functions[name]
            ranges = _widened(found.get(name, {}))
            _mark(function, ranges)
            arguments = function.regions[0].blocks[0].arguments if has_body(function) else []
            known = {arguments[p]: r for p, r in ranges.items()} if has_body(function) else {}
            for callee, given in _calls(function, known):
                _join(found.setdefault(callee, {}), given)


def index_ranges(function: ir.Operation) -> dict[int, Interval]:
    """The ranges marked on a function, by argument; an index argument without one may be any index."""
    if ATTRIBUTE not in function.attributes:
        return {}
    return ranges_of(list(ir.DenseI64ArrayAttr(function.attributes[ATTRIBUTE])))


def ranges_of(numbers: list[int]) -> dict[int, Interval]:
    """The same of the attribute's numbers: position, least and greatest value of each."""
    rows = zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True)
    return {position: (low, high) for position, low, high in rows}


def _mark(function: ir.Operation, ranges: dict[int, Interval]) -> None:
    if ranges:
        numbers = [n for p, (low, high) in sorted(ranges.items()) for n in (p, low, high)]
        function.attributes[ATTRIBUTE] = ir.DenseI64ArrayAttr.get(numbers)


def _widened(ranges: dict[int, Interval]) -> dict[int, Interval]:
    kinds = (NATURAL_RANGE, NARROW_RANGE, INDEX_RANGE)
    return {p: next(k for k in kinds if within(r, k)) for p, r in ranges.items()}


def _join(known: dict[int, Interval], given: dict[int, Interval]) -> None:
    for position, values in given.items():
        known[position] = hull(known.get(position, values), values)


def _calls(
    function: ir.Operation, known: dict[ir.Value, Interval]
) -> Iterator[tuple[str, dict[int, Interval]]]:
    """The calls of a function with the ranges of their index operands."""
    for op in walk(function):
        if op.name == "func.call":
            given = [(p, v) for p, v in enumerate(op.operands) if isinstance(v.type, ir.IndexType)]
            yield callee_of(op), {p: interval_of(v, op, known) or INDEX_RANGE for p, v in given}


def _index_positions(function: ir.Operation) -> list[int]:
    inputs = function_type(function).inputs
    return [p for p, t in enumerate(inputs) if isinstance(t, ir.IndexType)]


def callees_first(functions: dict[str, ir.Operation]) -> list[str]:
    """The names of functions, each behind those that it calls."""
    order: dict[str, None] = {}
    for name in functions:
        _behind_callees(name, (), functions, order)
    return list(order)


# No function inside the one above: that is a cycle, which keeps operations until the collector comes.
def _behind_callees(
    name: str,
    above: tuple[str, ...],
    functions: dict[str, ir.Operation],
    order: dict[str, None],
) -> None:
    if name in order or name in above or name not in functions:
        return
    for op in walk(functions[name]):
        if op.name == "func.call":
            _behind_callees(callee_of(op), (*above, name), functions, order)
    order[name] = None
