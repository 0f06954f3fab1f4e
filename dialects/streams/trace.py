"""Which elements of arrays a process touches, in order: its affine skeleton is run on integers.

Only loops, conditions and subscripts are run, never arithmetic on data. Where an access depends on
data its elements are not known, and the :class:`Event` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from .._mlir import ir
from ..affine.loops import body_operations, induction_variable, spec_of
from ..affine.maps import BoundMap, bound_map, condition_of
from ..affine.repeated import INDEX, STANDING, DiffersError, Repeated, moving_dim
from ..core import expressions
from ..core.signature import callee_of

Environment = list[int]
Formula = expressions.Formula[Environment]


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """An operation that touches a watched array.

    Attributes:
        array: number of the array among those watched.
        writes, reads: what it does.
        certain: whether it runs whatever the data; False under a condition on data.
        whole: it touches the array as a whole, or by an operation that is no load or store.
        subscripts: how to compute the element; None where that takes data.
    """

    op: ir.Operation
    array: int
    writes: bool
    reads: bool
    certain: bool
    whole: bool
    subscripts: tuple[Formula, ...] | None

    @property
    def is_known(self) -> bool:
        """Whether it surely happens, to one element, at subscripts that are known."""
        return self.certain and not self.whole and self.subscripts is not None


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop around accesses; its index is in a slot of the environment."""

    slot: int
    lower: tuple[Formula, ...]
    upper: tuple[Formula, ...]
    step: int
    pipelined: bool
    body: list[Node]


@dataclass(frozen=True, slots=True)
class Branch:
    """A condition around accesses: rows that are 0 where the second is set, and not negative elsewhere."""

    rows: tuple[tuple[Formula, bool], ...]
    then: list[Node]
    otherwise: list[Node]


_COMPARED = {
    0: (1, 0, True),
    2: (-1, -1, False),
    3: (-1, 0, False),
    4: (1, -1, False),
    5: (1, 0, False),
}
"""By predicate of signed comparisons: the difference times the first plus the second is 0 where the third is
set, else not negative; eq, slt, sle, sgt, sge."""
Node = Access | Loop | Branch
Event = tuple[Access, tuple[int, ...] | None, int]


class Trace:
    """The accesses of one process to the watched arrays.

    Args:
        functions: the functions of the module by name.
        ops: the process.
        arrays: the watched arrays, numbered.
        given: index values from outside whose numbers :meth:`events` gets.
    """

    def __init__(
        self,
        functions: Mapping[str, ir.Operation],
        ops: Iterable[ir.Operation],
        arrays: Mapping[ir.Value, int],
        given: Sequence[ir.Value] = (),
    ) -> None:
        self._functions = functions
        self._slots = len(given)
        self._formulas: dict[ir.Value, Formula] = {
            value: _slot(number) for number, value in enumerate(given)
        }
        self._arrays = dict(arrays)
        self._open: list[str] = []
        self.accesses: list[Access] = []
        self._nodes = self._block(list(ops), certain=True)

    def events(self, numbers: Sequence[int] = ()) -> Iterator[Event]:
        """What it touches, in order; an access with unknown elements comes once, with None.

        The third is the number of the iteration of a pipelined loop that it is in, or 0.
        ``numbers`` are those of the given index values.
        """
        env = [*numbers, *[0] * (self._slots - len(numbers))]
        return _run(self._nodes, env, count(1), 0)

    @property
    def tree(self) -> Sequence[Node]:
        """Its accesses, and the loops and conditions around them, in order."""
        return self._nodes

    @property
    def slots(self) -> int:
        """How many numbers an environment of its formulas has."""
        return self._slots

    @property
    def is_empty(self) -> bool:
        """Whether the process touches no watched array."""
        return not self._nodes

    def fewest(self) -> int:
        """How many events there are at least; loops count whose bounds are constants."""
        return _fewest(self._nodes)

    def repeated(self) -> Repeated | None:
        """What the process does in each iteration of its one loop; None where it is no such process."""
        loop = self._loop_alone()
        if loop is None:
            return None
        env: list[Any] = [0] * self._slots
        low, high = _range_of(loop, env)
        env[loop.slot] = INDEX
        dims: dict[int, int] = {}
        try:
            for access, index, _ in _run(loop.body, env, count(1), 0):
                dim = None if index is None else moving_dim(index)
                if dim is None or dims.setdefault(access.array, dim) != dim:
                    return None
        except DiffersError:
            return None
        return Repeated((low, high, loop.step), dims) if low < high else None

    def first_events(self) -> Iterator[Event]:
        """What a repeated process touches in the iterations that stand for all."""
        loop = self._loop_alone()
        if loop is None:
            return self.events()
        env = [0] * self._slots
        stop = _range_of(loop, env)[0] + STANDING * loop.step
        few = replace(loop, upper=(*loop.upper, lambda _: stop))
        return _run([few], env, count(1), 0)

    def _loop_alone(self) -> Loop | None:
        only = self._nodes[0] if len(self._nodes) == 1 else None
        return only if isinstance(only, Loop) else None

    # --- reading -----------------------------------------------------------------

    def _block(self, ops: Iterable[ir.Operation], *, certain: bool) -> list[Node]:
        nodes: list[Node] = []
        for op in ops:
            nodes += self._op(op, certain)
        return nodes

    def _op(self, op: ir.Operation, certain: bool) -> list[Node]:
        if op.name == "affine.for":
            return self._loop(op, certain)
        if op.name == "affine.if":
            condition = condition_of(op)
            return self._branches(op, self._all(condition.exprs), condition.equal, certain)
        if op.name == "scf.if" and (row := self._comparison(op.operands[0])) is not None:
            return self._branches(op, (row[0],), (row[1],), certain)
        if op.name == "func.call":
            return self._call(op, certain)
        if op.regions and op.name != "linalg.fill":
            blocks = [block for region in op.regions for block in region.blocks]
            inside = [list(_operations(block)) for block in blocks]
            return [n for ops in inside for n in self._block(ops, certain=False)]
        return self._access(op, certain)

    def _loop(self, op: ir.Operation, certain: bool) -> list[Node]:
        spec = spec_of(op)
        lower, upper = self._all(spec.lower), self._all(spec.upper)
        known = lower is not None and upper is not None
        slot = self._slots
        self._slots += 1
        variable = induction_variable(op)
        self._formulas.pop(variable, None)
        if known:
            self._formulas[variable] = lambda env: env[slot]
        body = self._block(body_operations(op), certain=certain and known)
        if not body or lower is None or upper is None:
            return body
        return [Loop(slot, lower, upper, spec.step, "pipeline_ii" in op.attributes, body)]

    def _branches(
        self,
        op: ir.Operation,
        rows: tuple[Formula, ...] | None,
        equal: Sequence[bool],
        certain: bool,
    ) -> list[Node]:
        """What is below a condition; rows are None where it depends on data."""
        branches = [
            self._block(
                [o for block in region.blocks for o in _operations(block)],
                certain=certain and rows is not None,
            )
            for region in op.regions
        ]
        then, otherwise = branches[0], branches[1] if len(branches) > 1 else []
        if rows is None or not (then or otherwise):
            return [*then, *otherwise]
        return [Branch(tuple(zip(rows, equal, strict=True)), then, otherwise)]

    def _comparison(self, condition: ir.Value) -> tuple[Formula, bool] | None:
        """What is 0, or not negative, where two known index values compare as asked; None of others."""
        op = None if isinstance(condition, ir.BlockArgument) else condition.owner.operation
        if op is None or op.name != "arith.cmpi":
            return None
        left, right = (self.formula(v) for v in op.operands)
        compared = _COMPARED.get(ir.IntegerAttr(op.attributes["predicate"]).value)
        if left is None or right is None or compared is None:
            return None
        factor, constant, equal = compared
        return lambda env: (left(env) + right(env) * -1) * factor + constant, equal

    def _call(self, op: ir.Operation, certain: bool) -> list[Node]:
        name = callee_of(op)
        callee = self._functions.get(name)
        if callee is None or not len(callee.regions[0].blocks) or name in self._open:
            return self._access(op, certain)
        block = callee.regions[0].blocks[0]
        for operand, argument in zip(op.operands, block.arguments, strict=True):
            self._bind(operand, argument)
        self._open.append(name)
        nodes = self._block(list(_operations(block)), certain=certain)
        self._open.pop()
        return nodes

    def _bind(self, operand: ir.Value, argument: ir.Value) -> None:
        self._arrays.pop(argument, None)
        self._formulas.pop(argument, None)
        if operand in self._arrays:
            self._arrays[argument] = self._arrays[operand]
        elif isinstance(operand.type, ir.IndexType):
            formula = self.formula(operand)
            if formula is not None:
                self._formulas[argument] = formula

    def _access(self, op: ir.Operation, certain: bool) -> list[Node]:
        touched = [v for v in op.operands if v in self._arrays]
        if not touched or op.name == "func.return":
            return []
        writes, reads, subscripts, whole = True, op.name != "linalg.fill", None, True
        if op.name in ("affine.load", "memref.load", "affine.store", "memref.store"):
            writes, whole = op.name.endswith("store"), False
            reads = not writes
            subscripts = self._subscripts(op, 2 if writes else 1)
        accesses = [
            Access(op, self._arrays[v], writes, reads, certain, whole, subscripts) for v in touched
        ]
        self.accesses += accesses
        return list(accesses)

    def _subscripts(self, op: ir.Operation, start: int) -> tuple[Formula, ...] | None:
        if op.name.startswith("affine."):
            return self._all(bound_map(op))
        found = [self.formula(v) for v in list(op.operands)[start:]]
        return None if None in found else tuple(f for f in found if f is not None)

    # --- formulas -------------------------------------------------------------------

    def _all(self, bound: BoundMap) -> tuple[Formula, ...] | None:
        operands = [self.formula(v) for v in bound.operands]
        if None in operands:
            return None
        known = [f for f in operands if f is not None]
        dims = bound.map.n_dims
        return tuple(expressions.formula(e, known[:dims], known[dims:]) for e in bound.map.results)

    def formula(self, value: ir.Value) -> Formula | None:
        """How to compute an index value; None where it depends on data."""
        if value in self._formulas:
            return self._formulas[value]
        if isinstance(value, ir.BlockArgument):
            return None
        op = value.owner.operation
        if op.name == "arith.constant":
            number = ir.IntegerAttr(op.attributes["value"]).value
            return lambda env: number
        if op.name == "affine.apply":
            results = self._all(bound_map(op))
            return None if results is None else results[0]
        if op.name in ("arith.index_cast", "arith.index_castui"):
            return self.formula(op.operands[0])
        return None


def _slot(number: int) -> Formula:
    return lambda env: env[number]


def _operations(block: ir.Block) -> Iterator[ir.Operation]:
    for op in block.operations:
        yield op.operation


def _range_of(loop: Loop, env: Environment) -> tuple[int, int]:
    return max(f(env) for f in loop.lower), min(f(env) for f in loop.upper)


def _fewest(nodes: Sequence[Node]) -> int:
    found = 0
    for node in nodes:
        if isinstance(node, Access):
            found += 1
        elif isinstance(node, Loop):
            try:
                low, high = _range_of(node, [])
            except IndexError:  # an index of a loop around is in its bounds
                continue
            found += len(range(low, high, node.step)) * _fewest(node.body)
        else:
            found += min(_fewest(node.then), _fewest(node.otherwise))
    return found


def _run(
    nodes: Sequence[Node], env: Environment, numbers: Iterator[int], iteration: int
) -> Iterator[Event]:
    for node in nodes:
        if isinstance(node, Access):
            yield _event(node, env, iteration)
        elif isinstance(node, Loop):
            low, high = _range_of(node, env)
            flat = [each for each in node.body if isinstance(each, Access)]
            for value in range(low, high, node.step):
                env[node.slot] = value
                inner = next(numbers) if node.pipelined and not iteration else iteration
                if len(flat) < len(node.body):
                    yield from _run(node.body, env, numbers, inner)
                    continue
                for access in flat:  # a generator for each iteration would take most of the time
                    yield _event(access, env, inner)
        else:
            holds = all(row(env) == 0 if equal else row(env) >= 0 for row, equal in node.rows)
            branch = node.then if holds else node.otherwise
            yield from _run(branch, env, numbers, iteration)


def _event(access: Access, env: Environment, iteration: int) -> Event:
    subscripts = access.subscripts
    return access, None if subscripts is None else tuple([f(env) for f in subscripts]), iteration


def known_index(value: ir.Value, known: Mapping[ir.Value, int]) -> int | None:
    """The number an index value always is, given the numbers of some others."""
    if value in known:
        return known[value]
    if isinstance(value, ir.BlockArgument) or not isinstance(value.type, ir.IndexType):
        return None
    op = value.owner.operation
    if op.name == "arith.constant":
        return int(ir.IntegerAttr(op.attributes["value"]).value)
    if op.name == "affine.apply":
        found = known_subscripts(bound_map(op), known)
        return found[0] if found else None
    return None


def known_subscripts(bound: BoundMap, known: Mapping[ir.Value, int]) -> list[int | None]:
    """Each result of an affine map as a number, None where an operand it uses is not known."""
    numbers = [known_index(v, known) for v in bound.operands]
    formulas = [_number_or_fail(n) for n in numbers]
    dims = bound.map.n_dims
    found: list[int | None] = []
    for expr in bound.map.results:
        try:
            found.append(expressions.formula(expr, formulas[:dims], formulas[dims:])([]))
        except _UnknownIndexError:
            found.append(None)
    return found


class _UnknownIndexError(Exception):
    """An operand of a map is not known."""


def _number_or_fail(number: int | None) -> Formula:
    def value(env: Environment) -> int:
        if number is None:
            raise _UnknownIndexError
        return number

    return value
