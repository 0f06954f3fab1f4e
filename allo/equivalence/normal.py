"""Normal forms of expressions: what integer algebra makes equal gets one number.

Integer sums and products are taken modulo 2**w, in any order and grouping, through truncations and
extensions where those change nothing (the language adds in wider types and truncates). Bitwise
operations, minimum and maximum are taken in any order. A sum under a condition is a sum of what the
condition adds. Products are not distributed over sums of
several terms. Floats are compared as computed, unless ``reassociate`` treats their sums and
products as exact numbers.

A form belongs to a pair (term, width): the term's value modulo 2**width; width 0 for floats.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .terms import Term, Value, width_of

type Pair = tuple[Term, int]
type Build = Callable[["Forms"], int]

_SUMS = ("arith.addi", "arith.subi", "arith.muli", "arith.shli")
_FLOAT_SUMS = ("arith.addf", "arith.subf", "arith.negf", "arith.mulf")
_NARROWING = ("arith.trunci", "arith.index_cast", "arith.index_castui")
_WIDENING = ("arith.extsi", "arith.extui", "arith.index_cast", "arith.index_castui")
_BITWISE = ("arith.andi", "arith.ori", "arith.xori")
_EXTREMES = ("arith.minsi", "arith.minui", "arith.maxsi", "arith.maxui")
_FLOAT_EXTREMES = {"arith.minimumf": "const inf", "arith.maximumf": "const -inf"}
"""Exact in any order; and what changes no other value."""
_FLOAT_WIDTH = 0


@dataclass(slots=True)
class _Plan:
    """How a pair's form is made: the pairs needed first, and the function that then makes it."""

    needs: list[Pair]
    build: Build


type Key = tuple[Any, ...]
"""What a form is: its operation, its width and the numbers of its parts."""


class Forms:
    """Normal forms of the terms of one table, as numbers: equal numbers are equal values."""

    def __init__(self, reassociate: bool = False) -> None:
        self.reassociate = reassociate
        self._numbers: dict[Key, int] = {}
        self._keys: list[Key] = []
        self._done: dict[Pair, int] = {}

    def same(self, a: Value, b: Value, kind: str) -> bool:
        """Whether two values of one type are equal for all inputs, as far as the forms tell."""
        if a is b or (isinstance(a, int) and isinstance(b, int)):
            return a == b
        width = width_of(kind)
        return self.form(a, width) == self.form(b, width)

    def form(self, value: Value, width: int) -> int:
        """The number of a value's form modulo 2**width."""
        if isinstance(value, int):
            return self.constant(value, width)
        pair = (value, width)
        if pair not in self._done:
            self._complete(pair)
        return self._done[pair]

    def constant(self, value: int, width: int) -> int:
        """The form of a known integer."""
        return self.number(("int", width, value & ((1 << width) - 1) if width else value))

    def number(self, key: Key) -> int:
        """The number of a form, given out once."""
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self._keys)
            self._keys.append(key)
        return found

    def key(self, number: int) -> Key:
        """What the form of a number is."""
        return self._keys[number]

    def _complete(self, root: Pair) -> None:
        plans: dict[Pair, _Plan] = {}
        waiting = [root]
        while waiting:
            pair = waiting.pop()
            if pair in plans or pair in self._done:
                continue
            plan = plans[pair] = self._plan(*pair)
            waiting += plan.needs
        for pair in sorted(plans, key=lambda p: (p[0].number, -p[1])):
            self._done[pair] = plans[pair].build(self)

    # --- one plan a kind of operation -----------------------------------------------------

    def _plan(self, term: Term, width: int) -> _Plan:
        op = term.op.split(" ", 1)[0]
        if width and _is_sum(term, op, width):
            return _integer_sum(term, width)
        if width and op in _WIDENING:
            return _extension(term, width, op)
        if width and op in _BITWISE:
            return _any_order(term, width, op)
        if op in _EXTREMES and width == width_of(term.kind):
            return _any_order(term, width, op)
        if op in _FLOAT_EXTREMES:
            return _any_order(term, _FLOAT_WIDTH, op)
        if op == "arith.select":
            return _select(term, width)
        if self.reassociate and op in _FLOAT_SUMS:
            return _float_sum(term)
        if width and width < width_of(term.kind):
            return _truncation(term, width)
        return _opaque(term)


def _is_sum(term: Term, op: str, width: int) -> bool:
    if op == "arith.shli":
        return isinstance(term.args[1], int)
    return op in _SUMS or (op in _NARROWING and _passes(term, width))


def _passes(term: Term, width: int) -> bool:
    """Whether a cast keeps the low ``width`` bits of its operand."""
    source = term.args[0]
    return isinstance(source, Term) and width <= min(width_of(source.kind), width_of(term.kind))


def _need(value: Value, width: int) -> list[Pair]:
    return [] if isinstance(value, int) else [(value, width)]


def _width(value: Value) -> int:
    return 0 if isinstance(value, int) else width_of(value.kind)


def _opaque(term: Term) -> _Plan:
    needs = [pair for a in term.args for pair in _need(a, _width(a))]

    def build(forms: Forms) -> int:
        args = tuple(forms.form(a, _width(a)) for a in term.args)
        return forms.number((term.op, term.kind, *args))

    return _Plan(needs, build)


def _truncation(term: Term, width: int) -> _Plan:
    full = width_of(term.kind)
    return _Plan(
        [(term, full)], lambda forms: forms.number(("trunc", width, forms.form(term, full)))
    )


def _extension(term: Term, width: int, op: str) -> _Plan:
    source = term.args[0]
    inner = _width(source)
    if isinstance(source, Term) and width <= inner:
        return _Plan([(source, width)], lambda forms: forms.form(source, width))
    how = "extui" if op.endswith("ui") else "extsi"
    return _Plan(
        _need(source, inner),
        lambda forms: forms.number((how, inner, width, forms.form(source, inner))),
    )


def _select(term: Term, width: int) -> _Plan:
    """An integer ``a if c else b`` is ``b + (a - b if c else 0)``: sums under conditions are sums."""
    condition, then, other = term.args
    needs = [*_need(condition, 1), *_need(then, width), *_need(other, width)]

    def build(forms: Forms) -> int:
        a, b = forms.form(then, width), forms.form(other, width)
        if a == b:
            return a
        if not width:
            return forms.number(("select", width, forms.form(condition, 1), a, b))
        change = _sum_of(forms, [(a, 1), (b, -1)], width)
        zero = forms.constant(0, width)
        taken = forms.number(("select", width, forms.form(condition, 1), change, zero))
        return _sum_of(forms, [(b, 1), (taken, 1)], width)

    return _Plan(needs, build)


def _any_order(term: Term, width: int, op: str) -> _Plan:
    leaves = Counter[Value]()
    pending = _Pending(term)
    for node, count in pending:
        for value in node.args:
            if isinstance(value, Term) and value.op == term.op:
                pending.add(value, count)
            else:
                leaves[value] += count
    exclusive = op == "arith.xori"
    others = {v: n for v, n in leaves.items() if not _changes_nothing(v, op, width)}
    leaves = Counter(others or leaves)

    def build(forms: Forms) -> int:
        counts = Counter[int]()
        for value, count in leaves.items():
            counts[forms.form(value, width)] += count
        kept = sorted(k for k, n in counts.items() if not exclusive or n % 2)
        if len(kept) == 1:
            return kept[0]
        return forms.number((op, width, *kept)) if kept else forms.constant(0, width)

    return _Plan([p for v in leaves for p in _need(v, width)], build)


def _changes_nothing(value: Value, op: str, width: int) -> bool:
    """Whether an operand leaves every other one as it is."""
    if isinstance(value, Term):
        return value.op == _FLOAT_EXTREMES.get(op)
    ones, top = (1 << width) - 1, 1 << max(width - 1, 0)
    neutral = {
        "arith.andi": ones,
        "arith.minui": ones,
        "arith.minsi": top - 1,
        "arith.maxsi": top,
    }
    return value & ones == neutral.get(op, 0)


class _Pending:
    """Terms still to open, each with an amount that grows until its turn comes.

    A term is taken after every term that uses it, so a shared one is opened once.
    """

    def __init__(self, root: Term) -> None:
        self._amounts: dict[int, int] = {root.number: 1}
        self._heap: list[tuple[int, Term]] = [(-root.number, root)]

    def add(self, term: Term, amount: int) -> None:
        if term.number in self._amounts:
            self._amounts[term.number] += amount
            return
        self._amounts[term.number] = amount
        heapq.heappush(self._heap, (-term.number, term))

    def __iter__(self) -> Iterator[tuple[Term, int]]:
        while self._heap:
            term = heapq.heappop(self._heap)[1]
            yield term, self._amounts.pop(term.number)


# --- sums and products ------------------------------------------------------------------


@dataclass(slots=True)
class _Product:
    """``scale`` times the product of factors with their exponents."""

    scale: int
    factors: Counter[Term]


def _integer_sum(term: Term, width: int) -> _Plan:
    constant = 0
    leaves: list[tuple[Term | _Product, int]] = []
    pending = _Pending(term)

    def add(value: Value, scale: int) -> None:
        nonlocal constant
        if isinstance(value, int):
            constant += value * scale
        else:
            pending.add(value, scale)

    for node, scale in pending:
        args = node.args
        if node.op in ("arith.addi", "arith.subi"):
            add(args[0], scale)
            add(args[1], scale if node.op == "arith.addi" else -scale)
        elif node.op == "arith.shli" and isinstance(args[1], int):
            add(args[0], scale << args[1] if args[1] < width_of(node.kind) else 0)
        elif node.op == "arith.muli" and any(isinstance(a, int) for a in args):
            known, other = args if isinstance(args[0], int) else (args[1], args[0])
            add(other, scale * int(known))  # type: ignore[arg-type]
        elif node.op == "arith.muli":
            product = _integer_product(node, width)
            leaves.append((product, scale * product.scale))
        elif _keeps_low_bits(node, width):
            add(args[0], scale)
        else:
            leaves.append((node, scale))
    needs: list[Pair] = []
    for leaf, _ in leaves:
        needs += [(t, width) for t in (leaf.factors if isinstance(leaf, _Product) else [leaf])]
    return _Plan(needs, lambda forms: _built_sum(forms, leaves, constant, width))


def _keeps_low_bits(node: Term, width: int) -> bool:
    op = node.op.split(" ", 1)[0]
    return op in (*_NARROWING, *_WIDENING) and _passes(node, width)


def _integer_product(term: Term, width: int) -> _Product:
    product = _Product(1, Counter())
    pending = _Pending(term)
    for node, power in pending:
        if node.op != "arith.muli" and not _keeps_low_bits(node, width):
            product.factors[node] += power
            continue
        for value in node.args:
            if isinstance(value, int):
                product.scale = product.scale * pow(value, power, 1 << width) % (1 << width)
            else:
                pending.add(value, power)
    return product


def _built_sum(
    forms: Forms, leaves: list[tuple[Term | _Product, int]], constant: int, width: int
) -> int:
    numbers = [
        (
            _built_product(forms, leaf.factors, width)
            if isinstance(leaf, _Product)
            else forms.form(leaf, width),
            scale,
        )
        for leaf, scale in leaves
    ]
    return _sum_of(forms, numbers, width, constant)


def _sum_of(forms: Forms, numbers: Sequence[tuple[int, int]], width: int, constant: int = 0) -> int:
    """The form of a sum of forms, each with its scale, and a constant."""
    modulus = 1 << width
    scales: dict[int, int] = {}
    for number, scale in numbers:
        for inner, factor in _addends(forms, number, width):
            if inner is None:
                constant += factor * scale
            else:
                scales[inner] = (scales.get(inner, 0) + factor * scale) % modulus
    rest = tuple(sorted((n, s) for n, s in scales.items() if s))
    constant %= modulus
    if not rest:
        return forms.constant(constant, width)
    if rest[0][1] == 1 and len(rest) == 1 and not constant:
        return rest[0][0]
    return forms.number(("sum", width, constant, rest))


def _addends(forms: Forms, number: int, width: int) -> list[tuple[int | None, int]]:
    """A form as addends (form or None for 1, scale): sums hidden in leaves are merged."""
    key = forms.key(number)
    if key[0] == "int":
        return [(None, key[2])]
    if key[0] == "sum" and key[1] == width:
        return [(None, key[2]), *key[3]]
    return [(number, 1)]


def _built_product(forms: Forms, factors: Counter[Term], width: int) -> int:
    powers = Counter[int]()
    for factor, power in factors.items():
        powers[forms.form(factor, width)] += power
    if len(powers) == 1 and next(iter(powers.values())) == 1:
        return next(iter(powers))
    return forms.number(("product", width, tuple(sorted(powers.items()))))


def _float_sum(term: Term) -> _Plan:
    """A float sum of products as if numbers were exact: scales are counts, zeros vanish."""
    leaves: list[tuple[Counter[Term], int]] = []
    pending = _Pending(term)

    def add(value: Value, scale: int) -> None:
        if isinstance(value, Term):
            pending.add(value, scale)

    for node, scale in pending:
        op = node.op
        if op in ("arith.addf", "arith.subf"):
            add(node.args[0], scale)
            add(node.args[1], -scale if op == "arith.subf" else scale)
        elif op == "arith.negf":
            add(node.args[0], -scale)
        elif not _is_zero(node):
            leaves.append((_float_factors(node), scale))
    needs = [(factor, _FLOAT_WIDTH) for factors, _ in leaves for factor in factors]

    def build(forms: Forms) -> int:
        scales = Counter[int]()
        for factors, scale in leaves:
            scales[_built_product(forms, factors, _FLOAT_WIDTH)] += scale
        rest = tuple(sorted((n, s) for n, s in scales.items() if s))
        if len(rest) == 1 and rest[0][1] == 1:
            return rest[0][0]
        return forms.number(("float sum", term.kind, rest))

    return _Plan(needs, build)


def _float_factors(term: Term) -> Counter[Term]:
    factors = Counter[Term]()
    pending = _Pending(term)
    for node, power in pending:
        if node.op == "const 1.0":
            continue
        if node.op != "arith.mulf":
            factors[node] += power
            continue
        for value in node.args:
            if isinstance(value, Term):
                pending.add(value, power)
    return factors


def _is_zero(term: Term) -> bool:
    return term.op in ("const 0.0", "const -0.0")
