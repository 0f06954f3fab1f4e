"""A piece of core IR as the polyhedral model sees it: statements, domains, schedule, accesses.

Each operation with a memory effect is one statement. Its domain is the set of iterations of the
loops around it (inside the piece); values from outside are parameters. What is not affine is
over-approximated: a loop of unknown bounds runs any number of times, a subscript that is not
affine may touch any element.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from allo.dialects.affine.isl import isl

from .._mlir import ir
from ..core.effects import Effect, EffectAnalysis, Memory
from ..ranges.indices import Unknown, expression_text
from .loops import induction_variable, is_affine_loop, spec_of, string_attribute
from .maps import BoundMap, bound_map, condition_of


@dataclass(frozen=True, slots=True)
class LoopVariable:
    """One dimension of a statement's domain."""

    symbol: str
    name: str
    op: ir.Operation


@dataclass(frozen=True, slots=True)
class Access:
    """One read or write of a statement: the isl text of its subscripts, None for "any element"."""

    memory: str
    subscripts: tuple[str, ...] | None
    writes: bool
    extents: tuple[int | None, ...]
    private: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Statement:
    """One operation with memory effects."""

    name: str
    op: ir.Operation
    loops: tuple[LoopVariable, ...]
    positions: tuple[int, ...]
    constraints: tuple[str, ...]
    accesses: list[Access] = field(default_factory=list)

    @property
    def tuple_text(self) -> str:
        """The statement's instances as islpy writes them: ``S0[i, j]``."""
        return f"{self.name}[{', '.join(v.symbol for v in self.loops)}]"

    @property
    def number(self) -> int:
        """Its place in ``Model.statements``."""
        return int(self.name[1:])

    def time(self) -> list[str]:
        """The original execution time: position, iteration, position, … ."""
        out = [str(self.positions[0])]
        for variable, position in zip(self.loops, self.positions[1:], strict=True):
            out += [variable.symbol, str(position)]
        return out


@dataclass(frozen=True, slots=True)
class Context:
    """Where collecting stands: loops around, places within them, constraints so far."""

    loops: tuple[LoopVariable, ...]
    positions: tuple[int, ...]
    constraints: tuple[str, ...]

    def at(self, position: int) -> Context:
        """The same, at a place of the innermost loop."""
        return replace(self, positions=(*self.positions, position))


class NotAffine(Exception):
    """An index that the model cannot state; the caller over-approximates."""


class Model:
    """The polyhedral model of sibling operations of one block (usually one loop nest).

    Args:
        roots: operations of one block, in program order.
        effects: effect analysis of the module they belong to.
        shared_storage: treat an array allocated inside a loop as the same memory in every
            iteration (what a circuit has) rather than a fresh one (what the language says).
    """

    def __init__(
        self,
        roots: Sequence[ir.Operation],
        effects: EffectAnalysis,
        *,
        shared_storage: bool = False,
    ) -> None:
        self.statements: list[Statement] = []
        self.effects = effects
        self._shared_storage = shared_storage
        self._parameters: dict[ir.Value, str] = {}
        self._variables: dict[ir.Value, LoopVariable] = {}
        self._memories: dict[Memory | str | ir.Value, str] = {}
        self._inside: list[ir.Operation] = []
        places = itertools.count()
        for root in roots:
            self._visit(root, Context((), (), ()), places)

    # --- collecting ---------------------------------------------------------------------

    def _visit(self, op: ir.Operation, context: Context, places: Iterator[int]) -> None:
        if op.name in ("affine.for", "scf.for", "scf.while"):
            self._visit_loop(op, context.at(next(places)))
        elif op.name in ("affine.if", "scf.if"):
            self._visit_if(op, context, places)
        else:
            self._visit_leaf(op, context, places)

    def _visit_loop(self, op: ir.Operation, context: Context) -> None:
        symbol = f"i{len(context.loops)}"
        variable = LoopVariable(symbol, string_attribute(op, "loop_name") or symbol, op)
        self._inside.append(op)
        rows = [f"{symbol} >= 0"]
        if is_affine_loop(op):
            rows = self._loop_constraints(op, symbol)
            self._variables[induction_variable(op)] = variable
        inner = Context(
            (*context.loops, variable), context.positions, (*context.constraints, *rows)
        )
        places = itertools.count()
        for region in op.regions:
            for block in region.blocks:
                for child in block.operations:
                    self._visit(child.operation, inner, places)
        self._inside.pop()

    def _visit_if(self, op: ir.Operation, context: Context, places: Iterator[int]) -> None:
        then = context
        if op.name == "affine.if":
            rows = self._condition_constraints(op)
            then = replace(context, constraints=(*context.constraints, *rows))
        for number, region in enumerate(op.regions):
            for block in region.blocks:
                for child in block.operations:
                    self._visit(child.operation, context if number else then, places)

    def _visit_leaf(self, op: ir.Operation, context: Context, places: Iterator[int]) -> None:
        effects = self.effects.effects_of(op)
        if not effects:
            return
        here = context.at(next(places))
        statement = Statement(
            f"S{len(self.statements)}", op, here.loops, here.positions, here.constraints
        )
        statement.accesses = [self._access(op, effect, here.loops) for effect in effects]
        self.statements.append(statement)

    # --- expressions ----------------------------------------------------------------------

    def _loop_constraints(self, op: ir.Operation, symbol: str) -> list[str]:
        spec = spec_of(op)
        rows = []
        lowers = self._try_texts(spec.lower)
        rows += [f"{symbol} >= {text}" for text in lowers]
        rows += [f"{symbol} < {text}" for text in self._try_texts(spec.upper)]
        if spec.step > 1 and len(lowers) == 1 == len(spec.lower.map.results):
            rows.append(f"({symbol} - ({lowers[0]})) mod {spec.step} = 0")
        return rows

    def _condition_constraints(self, op: ir.Operation) -> list[str]:
        condition = condition_of(op)
        rows = []
        for expr, equal in zip(condition.exprs.map.results, condition.equal, strict=True):
            try:
                text = self._text(expr, condition.exprs)
            except NotAffine:
                continue
            rows.append(f"{text} {'=' if equal else '>='} 0")
        return rows

    def knows(self, op: ir.Operation) -> bool:
        """Whether the constraints of what an ``affine.if`` holds have every part of its condition."""
        return len(self._condition_constraints(op)) == len(condition_of(op).equal)

    def bounds_of(self, loops: Sequence[LoopVariable]) -> list[str]:
        """Constraints on the counters of loops, at least those that hold for all of their iterations."""
        rows = [f"{v.symbol} >= 0" for v in loops if not is_affine_loop(v.op)]
        return rows + [
            row
            for v in loops
            if is_affine_loop(v.op)
            for row in self._loop_constraints(v.op, v.symbol)
        ]

    def _try_texts(self, bound: BoundMap) -> list[str]:
        texts = []
        for expr in bound.map.results:
            try:
                texts.append(self._text(expr, bound))
            except NotAffine:
                continue
        return texts

    def _text(self, expr: ir.AffineExpr, bound: BoundMap) -> str:
        try:
            return expression_text(expr, bound, self)
        except Unknown:
            raise NotAffine from None

    def __getitem__(self, value: ir.Value) -> str:
        """The isl text of an operand of a map."""
        variable = self._variables.get(value)
        if variable is not None:
            return variable.symbol
        if not isinstance(value, ir.BlockArgument):
            op = value.owner.operation
            if op.name == "affine.apply":
                bound = bound_map(op)
                return self._text(bound.map.results[0], bound)
            if op.name == "arith.constant":
                return str(ir.IntegerAttr(op.attributes["value"]).value)
        if self._varies(value):
            raise NotAffine
        return self._parameters.setdefault(value, f"p{len(self._parameters)}")

    def _varies(self, value: ir.Value) -> bool:
        owner = value.owner
        op = owner.owner if isinstance(owner, ir.Block) else owner
        current: ir.Operation | None = op.operation
        while current is not None:
            if current in self._inside:
                return True
            parent = current.parent
            current = None if parent is None else parent.operation
        return False

    # --- accesses ---------------------------------------------------------------------------

    def _access(self, op: ir.Operation, effect: Effect, loops: tuple[LoopVariable, ...]) -> Access:
        key = effect.memory.key
        memory = self._memories.setdefault(key, f"M{len(self._memories)}")
        private = self._private_dims(key, loops)
        kind = None if isinstance(key, str) else key.type
        if effect.value is not None and isinstance(effect.value.type, ir.MemRefType):
            kind = kind or effect.value.type
        extents = _extents(kind)
        subscripts = None
        if effect.memory.exact and op.name in ("affine.load", "affine.store"):
            subscripts = self._subscripts(bound_map(op))
        if not extents:
            subscripts = ()
        return Access(memory, subscripts, effect.writes, extents, private)

    def _subscripts(self, bound: BoundMap) -> tuple[str, ...] | None:
        try:
            return tuple(self._text(expr, bound) for expr in bound.map.results)
        except NotAffine:
            return None

    def _private_dims(
        self, key: ir.Value | str, loops: tuple[LoopVariable, ...]
    ) -> tuple[str, ...]:
        if self._shared_storage or isinstance(key, (str, ir.BlockArgument)):
            return ()
        around = []
        parent = key.owner.operation.parent
        while parent is not None:
            around.append(parent.operation)
            parent = parent.operation.parent
        return tuple(v.symbol for v in loops if v.op in around)

    # --- isl ---------------------------------------------------------------------------------

    def _head(self) -> str:
        return f"[{', '.join(self._parameters.values())}] -> "

    def relation(self, rows: Sequence[str]) -> isl.UnionMap:
        """A union map from rows such as ``S0[i0] -> M0[i0] : 0 <= i0 < 4``."""
        return isl.UnionMap(self._head() + "{ " + "; ".join(rows) + " }")

    def schedule(
        self,
        times: Sequence[list[str]] | None = None,
        only: Sequence[Statement] | None = None,
    ) -> isl.UnionMap:
        """Statement instances to times; the program's own order when no times are given."""
        own = [s.time() for s in self.statements] if times is None else times
        length = max((len(t) for t in own), default=1)
        chosen = self.statements if only is None else only
        rows = []
        for statement in chosen:
            time = own[statement.number]
            padded = time + ["0"] * (length - len(time))
            rows.append(f"{statement.tuple_text} -> [{', '.join(padded)}]{_where(statement)}")
        return self.relation(rows)

    def accesses(
        self, memory: str, writes: bool, only: Sequence[Statement] | None = None
    ) -> isl.UnionMap:
        """Statement instances to the elements of one memory they write (or read)."""
        rows = [
            _access_row(s, a)
            for s in (self.statements if only is None else only)
            for a in s.accesses
            if a.memory == memory and a.writes == writes
        ]
        return self.relation(rows)

    @property
    def parameters(self) -> dict[str, ir.Value]:
        """The values from outside that the model uses, by what it calls them."""
        return {name: value for value, name in self._parameters.items()}

    def memory_label(self, key: ir.Value | str) -> str | None:
        """The model's name for a memory, or None when nothing touches it."""
        return self._memories.get(key)

    def writes_all(self, memory: str) -> bool:
        """Whether the statements store every element of a memory, by subscripts that are all exact."""
        stores = [a for s in self.statements for a in s.accesses if a.memory == memory and a.writes]
        if not stores or any(a.subscripts is None or a.private for a in stores):
            return False
        names = [f"e{k}" for k in range(len(stores[0].extents))]
        if any(extent is None for extent in stores[0].extents):
            return False
        rows = [
            f"0 <= {name} < {extent}" for name, extent in zip(names, stores[0].extents, strict=True)
        ]
        where = f" : {' and '.join(rows)}" if rows else ""
        whole = isl.UnionSet(f"{{ {memory}[{', '.join(names)}]{where} }}")
        return bool(whole.is_subset(self.accesses(memory, True).range()))

    def written_memories(self) -> dict[str, list[Statement]]:
        """Each memory that some statement writes, with every statement that touches it."""
        touched: dict[str, list[Statement]] = {}
        written = set()
        for statement in self.statements:
            for access in statement.accesses:
                users = touched.setdefault(access.memory, [])
                if statement not in users:
                    users.append(statement)
                if access.writes:
                    written.add(access.memory)
        return {memory: users for memory, users in touched.items() if memory in written}

    def statement(self, name: str) -> Statement:
        """The statement of this name."""
        return self.statements[int(name[1:])]


def _where(statement: Statement, extra: Sequence[str] = ()) -> str:
    rows = [*statement.constraints, *extra]
    return f" : {' and '.join(rows)}" if rows else ""


def _access_row(statement: Statement, access: Access) -> str:
    target: list[str] = list(access.private)
    extra: list[str] = []
    if access.subscripts is None:
        names = [f"e{k}" for k in range(len(access.extents))]
        target += names
        for name, extent in zip(names, access.extents, strict=True):
            extra.append(f"{name} >= 0" if extent is None else f"0 <= {name} < {extent}")
    else:
        target += access.subscripts
    where = _where(statement, extra)
    return f"{statement.tuple_text} -> {access.memory}[{', '.join(target)}]{where}"


def _extents(kind: ir.Type | None) -> tuple[int | None, ...]:
    if not isinstance(kind, ir.MemRefType):
        return ()
    return tuple(None if kind.is_dynamic_dim(d) else kind.get_dim_size(d) for d in range(kind.rank))


def memory_name(op: ir.Operation) -> str:
    """The user's name of the array an access touches, for messages."""
    for attribute in ("from", "to", "name"):
        found = string_attribute(op, attribute)
        if found:
            return found
    return "memory"
