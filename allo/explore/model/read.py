"""From the core IR of a schedule to a :class:`~allo.explore.kernel.Kernel`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import prod

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    body_operations,
    induction_variable,
    is_affine_loop,
    is_defined_inside,
    is_loop,
    spec_of,
    string_attribute,
    walk,
)
from allo.dialects.affine.maps import BoundMap, bound_map
from allo.dialects.core.fifos import GETS, PUTS
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import callee_of, functions_of
from allo.dialects.sums.reductions import update_of
from allo.schedule import Schedule

from .arrays import Arrays
from .functions import Expansions
from .kernel import APPLIED, WHILE, Access, Kernel, Loop, Nest, Subscript, Sum, Unit
from .repeated import Deciding

_MARKS = ("pipeline_ii", "unroll", "parallel", "dataflow", "rewind")

type _Linear = tuple[dict[str, int], int] | None


def read_kernel(schedule: Schedule) -> Kernel:
    """The nests and arrays of a schedule's module."""
    with schedule.context:
        return _Reader(schedule).read()


class _Reader:
    """Walks the top function and all that it calls, in program order."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._functions = functions_of(schedule.module)
        self._arrays = Arrays(schedule)
        self._nests: list[Nest] = []
        self._of_function: dict[str, list[int]] = {}
        self._names: dict[ir.Value, tuple[str, Loop]] = {}
        self._touched: list[list[tuple[str, bool]]] = []
        self._expansions = Expansions(_unit)

    def read(self) -> Kernel:
        """All nests, and which statements of the top function hold them."""
        tasks: list[list[int]] = []
        top = self._functions[self._schedule.top_func_name]
        for op in _body(top):
            before = len(self._nests)
            self._statement(op, self._schedule.top_func_name, 1, None, "")
            made = list(range(before, len(self._nests)))
            if not made and op.name == "func.call":
                made = self._of_function.get(callee_of(op), [])
            if made:
                for number in made:
                    self._nests[number].task = len(tasks)
                tasks.append(made)
                self._touched.append(self._memories(op))
        waits = [(a, b) for b in range(len(tasks)) for a in range(b) if self._conflict(a, b)]
        rounded = any(s.rounded for nest in self._nests for s in nest.sums)
        return Kernel(
            self._schedule.top_func_name, self._nests, self._arrays.found, tasks, waits, rounded,
            "dataflow" in top.attributes,
        )  # fmt: skip

    # --- statements ---------------------------------------------------------------------------

    def _statement(
        self, op: ir.Operation, function: str, entries: int, parent: Nest | None, band: str
    ) -> None:
        if is_loop(op):
            self._nest(op, function, entries, parent, band)
        elif op.name == "func.call" and callee_of(op) in self._functions:
            self._call(callee_of(op), entries, parent)
        elif len(op.regions) and op.name != "linalg.generic":
            for region in op.regions:
                for block in region.blocks:
                    for inner in block.operations:
                        self._statement(inner.operation, function, entries, parent, band)

    def _call(self, callee: str, entries: int, parent: Nest | None) -> None:
        if callee in self._of_function:
            for number in self._of_function[callee]:
                self._nests[number].entries += entries
            return
        before = len(self._nests)
        for op in _body(self._functions[callee]):
            self._statement(op, callee, entries, parent, "")
        self._of_function[callee] = list(range(before, len(self._nests)))

    def _nest(
        self, root: ir.Operation, function: str, entries: int, parent: Nest | None, band: str
    ) -> None:
        band = band or string_attribute(root, "op_name") or ""
        chain = [root]
        while len(body := body_operations(chain[-1])) == 1 and is_loop(body[0]):
            chain.append(body[0])
        loops = [self._loop(op) for op in chain]
        place = place_of(root)
        nest = Nest(function, band, loops, str(place) if place else "", entries=entries)
        nest.number, nest.parent = len(self._nests), parent.number if parent else None
        self._nests.append(nest)
        nest.obstacle = self._obstacle(chain, nest)
        inside = [op for op in walk(chain[-1]) if is_loop(op)]
        nest.inner = [self._loop(op) for op in inside]
        nest.copies = _bodies(chain[-1], {loop.name: loop.extent or 1 for loop in nest.inner})
        if not nest.obstacle and any(loop.extent is None for loop in nest.inner):
            nest.obstacle = "bounds of its loops depend on data"
        names = [loop.name for loop in (*nest.chain, *nest.inner)]
        if len(set(names)) < len(names) and not nest.obstacle:
            nest.obstacle = "two of its loops have one name"
        self._body(chain, nest)
        times = 1
        for loop in loops:
            times *= self._average(loop, loops)
        if inside or any(op.name == "func.call" for op in walk(chain[-1])):
            before = len(self._nests)
            for op in body_operations(chain[-1]):
                self._statement(op, function, entries * times, nest, band)
            nest.children = [
                n for n in range(before, len(self._nests)) if self._nests[n].parent == nest.number
            ]

    def _average(self, loop: Loop, loops: list[Loop]) -> int:
        extent = loop.extent or 1
        within = loop.over is not None and loop.over[0] in [other.name for other in loops]
        return max(1, (extent + 1) // 2) if within else extent

    def _obstacle(self, chain: list[ir.Operation], nest: Nest) -> str:
        if any(op.name == "scf.while" for op in walk(chain[-1])):
            return WHILE
        for op in (*chain, *(op for op in walk(chain[-1]) if is_loop(op))):
            marked = [mark for mark in _MARKS if mark in op.attributes]
            if marked:
                return APPLIED
            if not is_affine_loop(op):
                return "bounds of its loops depend on data"
        if any(loop.extent is None for loop in nest.chain):
            return "bounds of its loops depend on data"
        for op in walk(chain[-1]):
            if op.name == "func.call":
                return "it calls functions"
            if op.name in PUTS | GETS or (op.name.startswith("allo.") and "print" in op.name):
                return "it uses streams, or prints"
        return ""

    # --- loops --------------------------------------------------------------------------------

    def _loop(self, op: ir.Operation) -> Loop:
        name = string_attribute(op, "loop_name") or "L"
        if not is_affine_loop(op):
            loop = Loop(name, None, 0, False)
            self._names[induction_variable(op)] = (name, loop)
            return loop
        spec = spec_of(op)
        count, bounds = spec.trip_count(), spec.constant_bounds()
        if count is not None and bounds is not None:
            loop = Loop(name, count, bounds[0], True)
        else:
            loop = self._dependent(name, spec.lower, spec.upper)
        self._names[induction_variable(op)] = (name, loop)
        return loop

    def _dependent(self, name: str, lower: BoundMap, upper: BoundMap) -> Loop:
        """A loop whose bounds are affine in the loops around it: its largest extent."""
        lows = [self._linear(expr, lower) for expr in lower.results]
        highs = [self._linear(expr, upper) for expr in upper.results]
        ranges = {known: self._range(loop) for known, loop in self._names.values()}
        least = [_span(low, ranges)[0] for low in lows if low is not None]
        most = [_span(high, ranges)[1] for high in highs if high is not None]
        if not least or not most:
            return Loop(name, None, 0, False)
        low, high = max(least), min(most)
        over = None
        if len(lows) == 1 == len(highs) and lows[0] is not None and highs[0] is not None:
            used = {*lows[0][0], *highs[0][0]}
            if len(used) == 1:
                by = next(iter(used))
                ends = [(end[0].get(by, 0), end[1]) for end in (lows[0], highs[0])]
                over = (by, ends[0], ends[1])
        return Loop(name, max(0, high - low), low, False, over)

    def _range(self, loop: Loop) -> tuple[int, int]:
        return loop.low, loop.low + max(0, (loop.extent or 1) - 1)

    def _linear(self, expr: ir.AffineExpr, bound: BoundMap) -> _Linear:
        def operand(value: ir.Value) -> _Linear:
            if value in self._names:
                return {self._names[value][0]: 1}, 0
            if not isinstance(value, ir.BlockArgument):
                op = value.owner.operation
                if op.name == "affine.apply":
                    inner = bound_map(op)
                    return self._linear(inner.results[0], inner)
                if op.name == "arith.constant":
                    return {}, int(ir.IntegerAttr(op.attributes["value"]).value)
            return None

        def join(operator: str, a: _Linear, b: _Linear) -> _Linear:
            if a is None or b is None:
                return None
            if operator == "+":
                terms = {k: a[0].get(k, 0) + b[0].get(k, 0) for k in {*a[0], *b[0]}}
                return {k: v for k, v in terms.items() if v}, a[1] + b[1]
            if operator == "*" and not b[0]:
                return {k: v * b[1] for k, v in a[0].items()}, a[1] * b[1]
            return None

        return bound.fold(expr, operand, lambda value: ({}, value), join)

    # --- bodies -------------------------------------------------------------------------------

    def _body(self, chain: list[ir.Operation], nest: Nest) -> None:
        """Operations, accesses and sums of the innermost body."""
        work: Counter[Unit] = Counter()
        shares: dict[Unit, Counter[frozenset[str]]] = {}
        deciding = Deciding(chain[0])
        extents = {loop.name: loop.extent or 1 for loop in nest.inner}
        stored: set[str] = set()
        loaded: list[tuple[str, tuple[Subscript | None, ...]]] = []
        for op in walk(chain[-1]):
            function, unit = self._expansions.of(op), _unit(op)
            taken = {unit: 1} if unit is not None else {}
            loops = deciding.of(op)
            copies = prod(extents.get(name, 1) for name in loops)
            for each, count in (taken if function is None else function.work).items():
                work[each] += count * copies
                shares.setdefault(each, Counter())[loops.difference(extents)] += count * copies
            if op.name in ("affine.load", "affine.store", "memref.load", "memref.store"):
                access = self._access(op)
                if access is not None:
                    nest.accesses.append(access)
                    if access.writes:
                        stored.add(access.array)
                    else:
                        loaded.append((access.array, access.subscripts))
            if op.name == "affine.store":
                found = update_of(op)
                if found is not None:
                    self._sum(op, found[1], chain, nest)
        nest.work, nest.shares = dict(work), shares
        nest.levels = _longest(chain[-1], self._expansions)
        written = {(a.array, a.subscripts) for a in nest.accesses if a.writes}
        nest.serial = any(
            array in stored and (array, subscripts) not in written for array, subscripts in loaded
        )

    def _access(self, op: ir.Operation) -> Access | None:
        writes = op.name.endswith("store")
        array = op.operands[1 if writes else 0]
        key = self._arrays.key(array)
        if key is None:
            return None
        rank = ir.MemRefType(array.type).rank
        if op.name.startswith("memref"):
            return Access(key, (None,) * rank, writes)
        bound = bound_map(op)
        found = [self._linear(expr, bound) for expr in bound.results]
        subscripts = tuple(None if f is None else Subscript(_Terms(f[0]), f[1]) for f in found)
        return Access(key, subscripts, writes)

    def _sum(self, store: ir.Operation, family: str, chain: list[ir.Operation], nest: Nest) -> None:
        bound = bound_map(store)
        rounded = not isinstance(store.operands[0].type, (ir.IntegerType, ir.IndexType))
        mentioned: set[str] = set()
        for expr in bound.results:
            found = self._linear(expr, bound)
            mentioned |= set(found[0]) if found else {loop.name for loop in nest.chain}
        array = store.operands[1]
        names = {loop.name: op for loop, op in zip(nest.chain, chain, strict=True)}
        over = {
            name
            for name, op in names.items()
            if name not in mentioned and not is_defined_inside(array, op)
        }
        kind = str(store.operands[0].type)
        unit = (family, (kind, kind), kind)
        if over:
            nest.sums.append(Sum(unit, frozenset(over), rounded))
        parent = store.parent
        while parent is not None and parent.operation != chain[-1]:
            op = parent.operation
            if is_loop(op) and not is_defined_inside(array, op):
                name = string_attribute(op, "loop_name") or "L"
                if name not in mentioned and (name, rounded) not in nest.inner_sums:
                    nest.inner_sums.append((name, rounded))
            parent = op.parent

    # --- tasks --------------------------------------------------------------------------------

    def _memories(self, op: ir.Operation) -> list[tuple[str, bool]]:
        """The arrays that a statement of the top function reads and writes."""
        found: set[tuple[str, bool]] = set()
        pending = [op]
        seen: set[str] = set()
        while pending:
            current = pending.pop()
            for inner in (current, *walk(current)):
                if inner.name.endswith((".load", ".store", ".fill")):
                    writes = not inner.name.endswith(".load")
                    position = 1 if writes else 0
                    key = self._arrays.key(inner.operands[position])
                    if key is not None:
                        found.add((key, writes))
                if inner.name == "func.call" and callee_of(inner) not in seen:
                    seen.add(callee_of(inner))
                    if callee_of(inner) in self._functions:
                        pending.append(self._functions[callee_of(inner)])
        return sorted(found)

    def _conflict(self, a: int, b: int) -> bool:
        written = {key for key, writes in self._touched[a] if writes}
        touched = {key for key, _ in self._touched[a]}
        return any(
            key in written or (writes and key in touched) for key, writes in self._touched[b]
        )


class _Terms(dict[str, int]):
    """Coefficients of a subscript, which are part of keys."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


def _body(function: ir.Operation) -> list[ir.Operation]:
    blocks = function.regions[0].blocks
    return [op.operation for op in blocks[0].operations] if len(blocks) else []


def _bodies(loop: ir.Operation, extents: Mapping[str, int]) -> int:
    """Copies of the innermost bodies in a loop, with all loops inside unrolled."""
    inside = [op for op in walk(loop) if is_loop(op) and _loop_around(op) == loop]
    return max(1, sum(extents[_loop_name(op)] * _bodies(op, extents) for op in inside))


def _loop_around(op: ir.Operation) -> ir.Operation:
    parent = op.parent.operation
    while not is_loop(parent):
        parent = parent.parent.operation
    return parent


def _loop_name(op: ir.Operation) -> str:
    return string_attribute(op, "loop_name") or "L"


def _unit(op: ir.Operation) -> Unit | None:
    """The unit that an operation takes; None for one of a few gates."""
    if len(op.results) != 1 or not op.name.startswith(("arith.", "math.")):
        return None
    kind = op.result.type
    heavy = op.name in ("arith.muli", "arith.divsi", "arith.divui", "arith.remsi", "arith.remui")
    is_float = not isinstance(kind, (ir.IntegerType, ir.IndexType))
    named = op.name not in ("arith.constant", "arith.select", "arith.negf", "arith.bitcast")
    if isinstance(kind, ir.IndexType) or not (heavy or (is_float and named)):
        return None
    if heavy:
        width = max(_width(operand) for operand in op.operands)
        return op.name, (f"i{width}",) * 2, f"i{width}"
    name = "arith.addf" if op.name == "arith.subf" else op.name
    return name, tuple(str(operand.type) for operand in op.operands), str(kind)


def _width(value: ir.Value) -> int:
    """Bits of an integer before it was extended: an extended operand takes no larger unit."""
    while not isinstance(value, ir.BlockArgument):
        op = value.owner.operation
        if op.name not in ("arith.extsi", "arith.extui"):
            break
        value = op.operands[0]
    if value.owner is not None and not isinstance(value, ir.BlockArgument):
        op = value.owner.operation
        if op.name == "arith.constant":
            return max(1, int(ir.IntegerAttr(op.attributes["value"]).value).bit_length())
    return int(ir.IntegerType(value.type).width)


def _longest(loop: ir.Operation, expansions: Expansions) -> list[Unit]:
    """The units of the longest chain of operations of a body, scalars followed through memory."""
    behind: dict[ir.Value, list[Unit]] = {}
    scalars: dict[ir.Value, list[Unit]] = {}
    best: list[Unit] = []
    for op in walk(loop):
        before: list[Unit] = []
        for operand in op.operands:
            chain = behind.get(operand, [])
            before = chain if len(chain) > len(before) else before
        if op.name == "affine.load" and op.operands[0] in scalars:
            before = scalars[op.operands[0]]
        function, unit = expansions.of(op), _unit(op)
        own = function.levels if function is not None else [] if unit is None else [unit]
        here = [*before, *own]
        if op.name == "affine.store" and ir.MemRefType(op.operands[1].type).rank == 0:
            scalars[op.operands[1]] = behind.get(op.operands[0], [])
        for result in op.results:
            behind[result] = here
        best = here if len(here) > len(best) else best
    return best


def _span(
    linear: tuple[dict[str, int], int], ranges: Mapping[str, tuple[int, int]]
) -> tuple[int, int]:
    """The least and the most value of an affine expression over a box."""
    low = high = linear[1]
    for name, factor in linear[0].items():
        ends = [factor * end for end in ranges.get(name, (0, 0))]
        low, high = low + min(ends), high + max(ends)
    return low, high
