"""Loops: ``range``, ``allo.grid``, ``allo.reduction``, ``while``."""

from __future__ import annotations

import ast
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from allo.dialects.diagnostics import CompileTimeError, SourcePlace, UnknownNameError
from allo.dialects.ranges.interval import INDEX_RANGE, Interval, within
from allo.frontend.affine import Affine, Iter, constant, is_affine, of_atom
from allo.frontend.capture import MISSING
from allo.frontend.checks.spans import span_of
from allo.frontend.elaborate import dispatch, exits
from allo.frontend.elaborate.context import FunctionContext, IterBinding
from allo.frontend.elaborate.expressions import guards, indexing
from allo.frontend.elaborate.expressions.order import Before
from allo.frontend.tree import Compute, Const, Expr, For, If, Subscript, Var, While

_ITERATIONS = ("range", "grid", "reduction")


@dataclass(slots=True)
class Counter:
    """One loop to make: its bounds, step, and what the user's iterator is of its counter."""

    name: str
    lower: tuple[Subscript, ...]
    upper: tuple[Subscript, ...]
    step: Subscript
    reversed_from: Affine | None = None
    stride: int = 1


def for_loop(ctx: FunctionContext, node: ast.For) -> None:
    """A ``for`` statement: one loop of ``range``, or the nest of a ``grid``."""
    if node.orelse:
        raise ctx.unsupported(node.orelse[0], "A loop has no else.", "use a flag variable.")
    kind, call = _iteration(ctx, node)
    names = _targets(ctx, node.target)
    if kind == "range":
        counters = [_range(ctx, call, names)]
    else:
        counters = _grid(ctx, call, names)
    options = _options(ctx, call, len(counters))
    _nest(ctx, node, counters, options, kind == "reduction")


def _iteration(ctx: FunctionContext, node: ast.For) -> tuple[str, ast.Call]:
    call = node.iter
    if isinstance(call, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in _ITERATIONS:
            return call.func.attr, call
        if isinstance(call.func, ast.Name):
            found = ctx.captured(call.func.id)
            kind = getattr(found, "__allo_dsl__", "range" if found is range else "")
            if kind in _ITERATIONS:
                return kind, call
            if found is MISSING and ctx.find(call.func.id) is None:
                raise ctx.unknown_name(call.func, call.func.id)
    raise ctx.unsupported(
        node.iter,
        f"Unsupported for loop: cannot iterate over {ast.unparse(node.iter)}.",
        "use range(...), allo.grid(...) or allo.reduction(...).",
    )


def _targets(ctx: FunctionContext, target: ast.expr) -> list[str]:
    nodes = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    names = []
    for node in nodes:
        if not isinstance(node, ast.Name):
            raise ctx.unsupported(
                node, "A loop iterator must be a plain name.", "write for i in range(8)."
            )
        if node.id != "_" and (ctx.find_own(node.id) is not None or node.id in names):
            raise UnknownNameError(
                f"The name {node.id!r} is already in use. "
                "Please choose a different name for the loop iterator.",
                ctx.place(node),
                help="rename the iterator, or the variable.",
            )
        names.append(node.id)
    return names


# --- bounds ------------------------------------------------------------------------------------


def _range(ctx: FunctionContext, call: ast.Call, names: list[str]) -> Counter:
    if not 1 <= len(call.args) <= 3:
        raise ctx.unsupported(
            call,
            "Unsupported range: it takes one to three arguments.",
            "write range(8), range(1, 8) or range(0, 8, 2).",
        )
    if len(names) != 1:
        raise ctx.unsupported(
            call, "range gives one iterator, not several.", "allo.grid(4, 8) gives several."
        )
    nodes = call.args
    lower = _bound(ctx, nodes[0], "max") if len(nodes) > 1 else (constant(0),)
    before = Before(ctx, len(ctx.block))
    upper = _bound(ctx, nodes[1 if len(nodes) > 1 else 0], "min")
    lower = _kept(lower, before)
    before = Before(ctx, len(ctx.block))
    step = indexing.bound(ctx, nodes[2]) if len(nodes) == 3 else constant(1)
    lower, upper = _kept(lower, before), _kept(upper, before)
    if not (isinstance(step, Affine) and step.is_constant):
        return Counter(names[0], lower, upper, step)
    if step.const == 0:
        raise CompileTimeError(
            "Step in for loop range should not be zero, got: 0.",
            ctx.place(nodes[2]),
            help="a step of 1 is the default; a negative one counts down.",
        )
    if step.const > 0:
        counter = Counter(names[0], lower, upper, step)
        if _passes(counter) and len(lower) > 1:
            counter.lower = (indexing.bound(ctx, nodes[0]),)
        if _passes(counter) and len(upper) > 1:
            counter.upper = (indexing.bound(ctx, nodes[-2]),)
        return counter
    return _downward(ctx, call, names[0], step.const)


def _kept(bound: tuple[Subscript, ...], before: Before) -> tuple[Subscript, ...]:
    return tuple(end if isinstance(end, Affine) else before.keep(end) for end in bound)


def _downward(ctx: FunctionContext, call: ast.Call, name: str, step: int) -> Counter:
    """``range(start, stop, -s)``: count up, and let the iterator be ``start - s * counter``.

    Where the distance may be no index, count from ``~start`` to ``~stop``: the iterator is ``~counter``.
    """
    start, stop = (_end(ctx, node) for node in call.args[:2])
    distance = span_of(start - stop + constant(-step))
    if distance is None or not within(distance, INDEX_RANGE):
        ends = [constant(-1) - end for end in (start, stop)]
        return Counter(name, (ends[0],), (ends[1],), constant(-step), constant(-1), -1)
    trips = (start - stop + constant(-step - 1)).floordiv(-step)
    return Counter(name, (constant(0),), (trips,), constant(1), start, step)


def _end(ctx: FunctionContext, node: ast.expr) -> Affine:
    """A bound of a loop that counts down: affine, or a value computed before the loop."""
    value = indexing.bound(ctx, node)
    if isinstance(value, Affine):
        return value
    held = Iter("end", False, ctx.place(node), None, _limits(value))
    ctx.emit(Compute(ctx.place(node), value, held))
    return of_atom(held)


def _bound(ctx: FunctionContext, node: ast.expr, joiner: str) -> tuple[Subscript, ...]:
    """A bound; ``max`` of affine lower bounds and ``min`` of upper ones stay affine."""
    is_joined = (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == joiner
        and not node.keywords
    )
    if is_joined:
        assert isinstance(node, ast.Call)
        found = [indexing.exact_affine_of(ctx, a) for a in node.args]
        parts = [p for p in found if p is not None]
        affine = len(parts) == len(node.args) and all(is_affine(p) for p in parts)
        if affine and not all(part.is_constant for part in parts):
            return tuple(parts)
    return (indexing.bound(ctx, node),)


def _grid(ctx: FunctionContext, call: ast.Call, names: list[str]) -> list[Counter]:
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        raise ctx.unsupported(call, "Star arguments are not supported.", "write the extents out.")
    if len(call.args) != len(names):
        raise ctx.unsupported(
            call,
            f"{len(call.args)} extents cannot give {len(names)} iterators.",
            "name one iterator for each extent; write a loop with a lower bound as range(low, high).",
        )
    if not names:
        raise ctx.unsupported(call, "A grid needs at least one extent.", "write allo.grid(4, 8).")
    ranges = [argument for argument in call.args if isinstance(argument, ast.Tuple | ast.List)]
    if ranges:
        raise ctx.unsupported(
            ranges[0],
            "The loops of a grid count from 0, so each has one extent.",
            "nest loops over range, which has a lower bound: for i in range(1, n):",
        )
    return [
        Counter(name, (constant(0),), _bound(ctx, extent, "min"), constant(1))
        for name, extent in zip(names, call.args, strict=True)
    ]


# --- options ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class Options:
    """``name=``, ``pipeline=``, ``unroll=``; one entry a loop for the last two."""

    name: str | None
    pipeline: list[int | None]
    unroll: list[int | None]


def _options(ctx: FunctionContext, call: ast.Call, count: int) -> Options:
    options = Options(None, [None] * count, [None] * count)
    for keyword in call.keywords:
        value = ctx.constant(keyword.value, f"The keyword {keyword.arg}")
        if keyword.arg == "name":
            if value is not None and not isinstance(value, str):
                raise CompileTimeError(
                    "name= takes a string.", ctx.place(keyword.value), help='write name="loop".'
                )
            options.name = value
        elif keyword.arg in ("pipeline", "unroll"):
            entries = _per_loop(ctx, keyword, value, count)
            true = 1 if keyword.arg == "pipeline" else 0
            numbers = [_number(ctx, keyword, entry, true) for entry in entries]
            setattr(options, keyword.arg, numbers)
        else:
            raise ctx.unsupported(
                keyword.value,
                f"Unknown keyword {keyword.arg!r} of a loop.",
                "loops take name=, pipeline= and unroll=.",
            )
    return options


def _per_loop(ctx: FunctionContext, keyword: ast.keyword, value: object, count: int) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        return [None] * (count - 1) + [value]
    if len(value) != count:
        raise CompileTimeError(
            f"{keyword.arg}= has {len(value)} entries for {count} loops.",
            ctx.place(keyword.value),
            help="give one entry for each loop.",
        )
    return list(value)


def _number(ctx: FunctionContext, keyword: ast.keyword, entry: object, true: int) -> int | None:
    if entry is True:
        return true
    if entry is None or entry is False or entry == 0:
        return None
    if isinstance(entry, int) and entry > 0:
        return entry
    raise CompileTimeError(
        f"{keyword.arg}= takes True or a positive integer, not {entry!r}.",
        ctx.place(keyword.value),
        help="write unroll=True, or pipeline=1.",
    )


# --- building ------------------------------------------------------------------------------------------


def _nest(
    ctx: FunctionContext,
    node: ast.For,
    counters: list[Counter],
    options: Options,
    reduction: bool,
) -> None:
    shown = "_".join(c.name for c in counters)
    op_name = options.name or f"S_{shown}_{ctx.nests}"
    place = ctx.place(node.target)
    header = SourcePlace(
        place.file,
        ctx.place(node).line,
        ctx.place(node).col,
        place.end_line,
        ctx.place(node.iter).end_col,
    )
    stop = exits.body_exits(node.body)
    flags = _flags(ctx, stop, f"{shown}_break", node.target)
    block = ctx.block
    with ctx.scope():
        for depth, counter in enumerate(counters):
            loop = _loop(counter, header, options, depth, reduction)
            loop.op_name = op_name if depth == 0 else None
            block.append(loop)
            block = loop.body
            _bind_iterator(ctx, counter, loop.iter)
        runs = not any(map(_never_runs, counters))
        with ctx.into(block), ctx.conditional(), nullcontext() if runs else ctx.unreachable():
            _body(ctx, node, stop, flags)
    ctx.nests += 1


def _loop(
    counter: Counter, place: SourcePlace, options: Options, depth: int, reduction: bool
) -> For:
    parts = (*counter.lower, *counter.upper, counter.step)
    affine = all(is_affine(p) for p in parts) and counter.step.is_constant  # type: ignore[union-attr]
    affine = affine and not _passes(counter)
    return For(
        place,
        Iter(counter.name, affine, place, _span(counter), _reach(counter)),
        counter.lower,
        counter.upper,
        counter.step,
        [],
        counter.name,
        reduction=reduction,
        pipeline=options.pipeline[depth],
        unroll=options.unroll[depth],
    )


def _span(counter: Counter) -> Interval | None:
    """The counter's least and greatest value, where constants bound it and it runs at all."""
    values = _values(counter)
    return (values[0], values[-1]) if values else None


def _passes(counter: Counter) -> bool:
    """Whether the value behind the last may be no index; constant bounds tell how many there are."""
    if not isinstance(counter.step, Affine) or _values(counter) is not None:
        return False
    step = counter.step.const
    return step > 1 and min(_limits(p)[1] for p in counter.upper) - 1 + step > INDEX_RANGE[1]


def _never_runs(counter: Counter) -> bool:
    values = _values(counter)
    return values is not None and not values


def _values(counter: Counter) -> range | None:
    """What the counter takes, where constants bound it."""
    parts = (*counter.lower, *counter.upper, counter.step)
    if not all(isinstance(p, Affine) and p.is_constant for p in parts):
        return None
    lower = max(p.const for p in counter.lower)  # type: ignore[union-attr]
    upper = min(p.const for p in counter.upper)  # type: ignore[union-attr]
    return range(lower, upper, counter.step.const)  # type: ignore[union-attr]


def _reach(counter: Counter) -> Interval:
    """A range that holds every value of the counter while its loop runs."""
    low = max(_limits(p)[0] for p in counter.lower)
    high = min(_limits(p)[1] for p in counter.upper) - 1
    return low, max(low, high)


def _limits(value: Subscript) -> Interval:
    found = span_of(value) or INDEX_RANGE
    return found if within(found, INDEX_RANGE) else INDEX_RANGE


def _bind_iterator(ctx: FunctionContext, counter: Counter, it: Iter) -> None:
    value = of_atom(it)
    if counter.reversed_from is not None:
        value = it.shown = counter.reversed_from + value.scaled(counter.stride)
    ctx.bind(counter.name, IterBinding(value, it.place))


Flags = dict[type, Var]


def _flags(ctx: FunctionContext, stop: frozenset[type], name: str, node: ast.AST) -> Flags:
    """The flags that end a loop: its own for ``break``, the function's for ``return``."""
    flags: Flags = {}
    if ast.Break in stop:
        flags[ast.Break] = exits.new_flag(ctx, name, node)
    if ast.Return in stop and ctx.early is not None:
        flags[ast.Return] = ctx.early.flag
    return flags


def _body(
    ctx: FunctionContext, node: ast.For | ast.While, stop: frozenset[type], flags: Flags
) -> None:
    """The body in a scope of its own; that of a ``for`` runs only while no flag is set."""
    place = ctx.place(node)
    guarded = isinstance(node, ast.For) and bool(flags)
    target = [] if guarded else ctx.block
    inner = dict(flags)
    ctx.loop_exits.append(inner)
    certain = isinstance(node, ast.For) and not flags
    with ctx.scope(), ctx.into(target), nullcontext() if certain else ctx.guarded():
        if ast.Continue in stop:
            inner[ast.Continue] = exits.new_flag(ctx, "skip", node)
        dispatch.statements(ctx, node.body)
    ctx.loop_exits.pop()
    if guarded:
        ctx.emit(If(place, exits.none_set(list(flags.values()), place), target, []))


def while_loop(ctx: FunctionContext, node: ast.While) -> None:
    """``while condition:``; the condition is computed anew before each turn."""
    if node.orelse:
        raise ctx.unsupported(node.orelse[0], "A loop has no else.", "use a flag variable.")
    stop = exits.body_exits(node.body)
    place = ctx.place(node.test)
    flags = _flags(ctx, stop, "while_break", node.test)
    with ctx.into([]) as prelude:
        test: Expr = guards.condition_unless(ctx, list(flags.values()), node.test)
    with ctx.scope(), ctx.into([]) as body, ctx.conditional():
        _body(ctx, node, stop, flags)
    if isinstance(test, Const) and test.value and not flags:
        ctx.function.endless = ctx.function.endless or place
    ctx.emit(While(place, prelude, test, body))
    ctx.nests += 1
