"""``affine.for`` nests: inspecting, building and moving them.

The functions edit in place and keep locations: a loop made from another takes its location.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .._mlir import ir
from .maps import BoundMap, bound_map, constant_map
from .substitute import simplify

LOOP_NAMES = ("affine.for", "scf.for")


@dataclass(frozen=True, slots=True)
class LoopSpec:
    """Everything of an ``affine.for`` but its body."""

    lower: BoundMap
    upper: BoundMap
    step: int
    attributes: dict[str, ir.Attribute]
    location: ir.Location

    def constant_bounds(self) -> tuple[int, int] | None:
        """(lower, upper) when both are constants."""
        low, high = self.lower.constant(), self.upper.constant()
        return None if low is None or high is None else (low, high)

    def trip_count(self) -> int | None:
        """Iterations, when the bounds are constants."""
        bounds = self.constant_bounds()
        return None if bounds is None else max(0, -(-(bounds[1] - bounds[0]) // self.step))


_STRUCTURE = ("lowerBoundMap", "upperBoundMap", "step", "operandSegmentSizes")


def is_loop(op: ir.Operation | ir.OpView) -> bool:
    """Whether the operation is a counted loop."""
    return op.operation.name in LOOP_NAMES


def is_affine_loop(op: ir.Operation | ir.OpView) -> bool:
    """Whether an operation is an ``affine.for``."""
    return bool(op.operation.name == "affine.for")


def spec_of(loop: ir.Operation | ir.OpView) -> LoopSpec:
    """Bounds, step and attributes of an ``affine.for``."""
    op = loop.operation
    attributes = {n: op.attributes[n] for n in op.attributes if n not in _STRUCTURE}
    return LoopSpec(
        bound_map(op, "lowerBoundMap"),
        bound_map(op, "upperBoundMap"),
        ir.IntegerAttr(op.attributes["step"]).value,
        attributes,
        op.location,
    )


def body_of(loop: ir.Operation | ir.OpView) -> ir.Block:
    """The block that a loop repeats."""
    return loop.operation.regions[0].blocks[0]


def induction_variable(loop: ir.Operation | ir.OpView) -> ir.Value:
    """The value of a loop's iterator."""
    return body_of(loop).arguments[0]


def body_operations(loop: ir.Operation | ir.OpView) -> list[ir.Operation]:
    """The operations of a loop's body, its terminator left out."""
    return [op.operation for op in body_of(loop).operations][:-1]


def terminator(block: ir.Block) -> ir.Operation:
    """The last operation of a block."""
    operations = block.operations
    return operations[len(operations) - 1].operation


def build_loop(
    spec: LoopSpec, ip: ir.InsertionPoint, carried: Sequence[ir.Value] = ()
) -> ir.Operation:
    """An ``affine.for`` with an empty body.

    Args:
        carried: the first values of what it hands from iteration to iteration; its body then has no
            terminator yet, which says what comes next.
    """
    index = ir.IndexType.get()
    lower, upper = spec.lower, spec.upper
    counts = [len(lower.operands), len(upper.operands), len(carried)]
    kinds = [value.type for value in carried]
    structure = {
        "lowerBoundMap": ir.AffineMapAttr.get(lower.map),
        "upperBoundMap": ir.AffineMapAttr.get(upper.map),
        "step": ir.IntegerAttr.get(index, spec.step),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get(counts),
    }
    loop = ir.Operation.create(
        "affine.for",
        results=kinds,
        operands=[*lower.operands, *upper.operands, *carried],
        attributes=spec.attributes | structure,
        regions=1,
        loc=spec.location,
        ip=ip,
    )
    places = [spec.location] * (1 + len(kinds))
    block = loop.regions[0].blocks.append(index, *kinds, arg_locs=places)
    if not carried:
        ir.Operation.create("affine.yield", loc=spec.location, ip=ir.InsertionPoint(block))
    return loop


def make_loop(
    name: str,
    lower: int | BoundMap,
    upper: int | BoundMap,
    location: ir.Location,
    ip: ir.InsertionPoint,
    *,
    attributes: dict[str, ir.Attribute] | None = None,
) -> ir.Operation:
    """A named ``affine.for`` with an empty body."""
    low = constant_map(lower) if isinstance(lower, int) else lower
    high = constant_map(upper) if isinstance(upper, int) else upper
    named = {"loop_name": ir.StringAttr.get(name), **(attributes or {})}
    return build_loop(LoopSpec(low, high, 1, named, location), ip)


def inner_point(loop: ir.Operation | ir.OpView) -> ir.InsertionPoint:
    """The insertion point before a loop's terminator."""
    return ir.InsertionPoint(terminator(body_of(loop)))


def move_body(source: ir.Operation, target: ir.Operation) -> None:
    """Move the operations of one loop's body to the end of another's."""
    end = terminator(body_of(target))
    for op in body_operations(source):
        op.move_before(end)


def parent_of(op: ir.Operation | ir.OpView) -> ir.Operation | None:
    """The operation around an operation; None for the outermost."""
    parent = op.operation.parent
    return None if parent is None else parent.operation


def enclosing_loops(op: ir.Operation | ir.OpView) -> list[ir.Operation]:
    """The counted loops around an operation within its function, outermost first."""
    found: list[ir.Operation] = []
    parent = parent_of(op)
    while parent is not None and parent.name not in ("func.func", "builtin.module"):
        if is_loop(parent):
            found.append(parent)
        parent = parent_of(parent)
    return found[::-1]


def walk(op: ir.Operation | ir.OpView) -> Iterator[ir.Operation]:
    """Every operation nested in ``op``, before its own nested ones; safe against edits of the current one."""
    for region in op.operation.regions:
        for block in region.blocks:
            for inner in list(block.operations):
                operation = inner.operation
                yield operation
                if len(operation.regions):
                    yield from walk(operation)


def perfect_chain(outer: ir.Operation, inner: ir.Operation) -> list[ir.Operation] | None:
    """The loops from ``outer`` to ``inner`` when each body holds just the next loop, else None."""
    chain = [outer]
    while chain[-1] != inner:
        operations = body_operations(chain[-1])
        if len(operations) != 1 or not is_loop(operations[0]):
            return None
        chain.append(operations[0])
    return chain


def is_defined_inside(value: ir.Value, op: ir.Operation) -> bool:
    """Whether a value comes from within an operation's regions."""
    owner = value.owner
    here = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
    if not isinstance(owner, ir.Block):
        parent = parent_of(here)
        if parent is None:
            return False
        here = parent
    while here is not None:
        if here == op:
            return True
        here = parent_of(here)
    return False


def join_bounds(*bounds: BoundMap) -> BoundMap:
    """One map with the results of all, so that a loop bound takes their min or max."""
    dims: list[ir.Value] = []
    symbols: list[ir.Value] = []
    for bound in bounds:
        dims += bound.dims
        symbols += bound.symbols
    results: list[ir.AffineExpr] = []
    dim_base = symbol_base = 0
    for bound in bounds:
        for expr in bound.map.results:
            shifted = expr.shift_dims(bound.map.n_dims, dim_base, 0)
            results.append(shifted.shift_symbols(bound.map.n_symbols, symbol_base, 0))
        dim_base += bound.map.n_dims
        symbol_base += bound.map.n_symbols
    return simplify(BoundMap(ir.AffineMap.get(len(dims), len(symbols), results), (*dims, *symbols)))


def constant_difference(left: BoundMap, right: BoundMap) -> int | None:
    """``left - right`` of two one-result maps where it is a constant, else None."""
    pair = join_bounds(left, right)
    negative = ir.AffineExpr.get_mul(pair.map.results[1], ir.AffineExpr.get_constant(-1))
    total = ir.AffineExpr.simplify_affine_expr(
        ir.AffineExpr.get_add(pair.map.results[0], negative), pair.map.n_dims, pair.map.n_symbols
    ).maybe_downcast()
    return total.value if isinstance(total, ir.AffineConstantExpr) else None


def string_attribute(op: ir.Operation | ir.OpView, name: str) -> str | None:
    """The value of a string attribute, or None."""
    attributes = op.operation.attributes
    return ir.StringAttr(attributes[name]).value if name in attributes else None


def root_of(op: ir.Operation) -> ir.Operation:
    """The operation of the function's own block that holds another, or is it."""
    while (parent := parent_of(op)) is not None and parent.name != "func.func":
        op = parent
    return op
