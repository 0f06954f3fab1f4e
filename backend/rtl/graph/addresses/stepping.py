"""Strength reduction: expressions of loop counters that are cheaper as counters of their own.

In a pipeline over loops with constant bounds, ``60 * i + j`` grows by the same constants whenever a loop
counter moves. A register that is stepped beside the loop counters therefore holds it, with one adder, whose
second operand depends on which of the loops go back to their start. ``j // 14`` and ``j % 14`` are such a
register with a carry from the other, which counts modulo 14. Addresses that differ by a constant are one
register and sums.

It is done where the adders of the expressions, bit by bit, are more than those of the registers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from ...plan.timing_model import TimingModel
from ..linear import add, bits_unsigned, subtract, symbol
from ..nodes import Body, Lin, Node
from ..prune import prune, regions_of
from ..regions import Choice, Function, If, Leaf, Level, Loop, Region, Seq, Stepped, While
from .adders import adder_bits, constant_bits

SIMPLE, WIDE, NARROW = 5, 2, 5
"""Lookup tables, found with Yosys for registers of 7 to 16 bits: what one saves that always grows by the
same; what the choice of what is added takes of tables with six inputs, and with four."""
TABLE = 3
"""Bits of counters up to which an expression is logic that goes into the tables of what reads it."""


def step_addresses(function: Function, static: Body, timing: TimingModel) -> None:
    """Make registers of expressions of counters, in place, where that takes fewer adders."""
    changed = False
    for leaf, around in _leaves(function.root, ()):
        if any(level.trips is None for level in leaf.levels):
            continue
        outer = () if leaf.exit is not None else around
        levels = [level for level in (*outer, *leaf.levels) if level.trips != 1]
        if levels:
            leaf.chain = tuple(levels)
            changed = _Stepper(function, leaf, levels, timing).run() or changed
    if changed:
        prune(function, static)
        for region in regions_of(function.root):
            if isinstance(region, Leaf):
                _drop_unused(region)


def _leaves(region: Region, around: tuple[Level, ...]) -> Iterator[tuple[Leaf, tuple[Level, ...]]]:
    """Each leaf, and the loops around it that run it once an iteration, a known number of times."""
    match region:
        case Leaf():
            yield region, around
        case Seq():
            for child in region.children:
                yield from _leaves(child, around)
        case Choice():
            for option in region.options:
                yield from _leaves(option, around)
        case Loop():
            counted = region.level.trips is not None and region.guard is None
            yield from _leaves(region.child, (*around, region.level) if counted else ())
        case If():
            yield from _leaves(region.then, ())
            yield from _leaves(region.other, ())
        case While():
            yield from _leaves(region.test, ())
            yield from _leaves(region.child, ())


def _drop_unused(leaf: Leaf) -> None:
    """Remove registers that no node reads, and no register that one reads."""
    used = {operand.number for node in leaf.body.nodes for operand in node.operands}
    for stepped in reversed(leaf.stepped):
        if stepped.node.number in used and stepped.rest is not None:
            used.add(stepped.rest.node.number)
    leaf.stepped = [stepped for stepped in leaf.stepped if stepped.node.number in used]


@dataclass(slots=True, eq=False)
class _Member:
    """A node that is an expression of counters, plus ``others``, which hold no constant."""

    node: Node
    const: int
    others: Lin


type _Key = tuple[tuple[tuple[int, int], ...], int, int]
"""Terms of counters; the quotient beside them and its factor, or zeros."""


class _Stepper:
    """Finds the expressions of one leaf."""

    def __init__(
        self, function: Function, leaf: Leaf, levels: list[Level], timing: TimingModel
    ) -> None:
        self._function, self._leaf, self._levels, self._timing = function, leaf, levels, timing
        self._counters = {level.iv.number: level for level in levels}
        self._rests: dict[int, Stepped] = {}

    def run(self) -> bool:
        """Make the registers; whether there are any."""
        groups: dict[_Key, list[_Member]] = defaultdict(list)
        terms: dict[_Key, Lin] = {}
        nodes = self._leaf.body.nodes
        quotients = {
            n.number: n for n in nodes if n.quotient_of and self._counted(n.quotient_of[0])
        }
        for node in nodes:
            if node.kind != "lin":
                continue
            own, others = self._parted(node.data)
            found = next((n for n, _ in others.terms if n.number in quotients), None)
            factor = dict(node.data.terms)[found] if found is not None else 0
            if found is not None:
                others = subtract(others, symbol(found, factor))
            if not own.terms and found is None:
                continue
            if found is not None and self._is_rest(own, found, factor):
                self._replace_rest(_Member(node, node.data.const, others), found)
                continue
            key = own.signature, found.number if found is not None else 0, factor
            groups[key].append(_Member(node, node.data.const, others))
            terms[key] = own
        for key, members in groups.items():
            self._replace_group(terms[key], quotients.get(key[1]), key[2], members)
        for node in quotients.values():
            register = self._register(Lin(0), node.width, node, 1)
            self._leaf.stepped.append(register)
            self._replace(node, register, Lin(0), 0)
        return bool(self._leaf.stepped)

    def _counted(self, expression: Lin) -> bool:
        """Whether an expression has no symbols but counters."""
        return all(node.number in self._counters for node, _ in expression.terms)

    def _parted(self, expression: Lin) -> tuple[Lin, Lin]:
        """The terms that are counters, and the others."""
        own = tuple(t for t in expression.terms if t[0].number in self._counters)
        others = tuple(t for t in expression.terms if t[0].number not in self._counters)
        return Lin(0, own), Lin(0, others)

    # --- remainders ---------------------------------------------------------------

    @staticmethod
    def _is_rest(own: Lin, quotient: Node, factor: int) -> bool:
        """Whether terms of counters and a quotient are a remainder, but for a constant."""
        assert quotient.quotient_of is not None
        dividend, divisor = quotient.quotient_of
        return own.terms == dividend.terms and factor == -divisor

    def _replace_rest(self, member: _Member, quotient: Node) -> None:
        assert quotient.quotient_of is not None
        more = member.const - quotient.quotient_of[0].const
        self._replace(member.node, self._rest(quotient), member.others, more)

    def _rest(self, quotient: Node) -> Stepped:
        """The register of the remainder that belongs to a quotient."""
        found = self._rests.get(quotient.number)
        if found is None:
            assert quotient.quotient_of is not None
            dividend, divisor = quotient.quotient_of
            levels = self._range(dividend)
            adds = tuple(self._growth(dividend, level) % divisor for level in levels)
            node = self._node(bits_unsigned(divisor - 1), "remainder")
            start = dividend.const % divisor
            found = Stepped(
                node, levels, adds, start, start - self._last(dividend) % divisor, divisor
            )
            self._rests[quotient.number] = found
            self._leaf.stepped.append(found)
        return found

    # --- expressions of the same terms ----------------------------------------------

    def _replace_group(
        self, own: Lin, quotient: Node | None, factor: int, members: list[_Member]
    ) -> None:
        """Make one register for nodes that differ by constants and other terms, if that pays."""
        width = max(member.node.width for member in members)
        if not self._fits(width) or not self._moves(own, quotient):
            return
        whole = own if quotient is None else add(own, symbol(quotient, factor))
        base = Counter(member.const for member in members).most_common(1)[0][0]
        register = self._register(Lin(base, own.terms), width, quotient, factor)
        before, adders = adder_bits(Lin(base, whole.terms), width)
        saved = before - width - self._overhead(register)
        for member in members:
            if member.const == base:
                continue
            bits = member.node.width
            alone, _ = adder_bits(Lin(member.const, whole.terms), bits)
            saved += min(alone, constant_bits(member.const, bits, bits))
            saved -= constant_bits(member.const - base, bits, bits)
        if saved <= 0 or adders < 2:
            return
        self._leaf.stepped.append(register)
        for member in members:
            self._replace(member.node, register, member.others, member.const - base)

    def _moves(self, own: Lin, quotient: Node | None) -> bool:
        """Whether terms change from one iteration of the leaf to the next, and are no table of few bits."""
        counters = {level.iv.number for level in self._leaf.levels}
        terms = [node for node, _ in own.terms]
        if quotient is not None:
            assert quotient.quotient_of is not None
            terms += [node for node, _ in quotient.quotient_of[0].terms]
        inside = any(node.number in counters for node in terms)
        return inside and sum(node.width for node in terms) > TABLE

    def _overhead(self, register: Stepped) -> int:
        """Lookup tables of a register beside those of its bits, less those of what it replaces.

        One that grows by the same in all iterations but the last is as cheap as a loop counter, and what
        reads it waits for no adder.
        """
        if register.rest is None and len(set(register.adds)) == 1:
            return -SIMPLE
        return WIDE if self._timing.device.fanin >= 6 else NARROW

    def _fits(self, width: int) -> bool:
        """Whether a register of so many bits can be stepped in a cycle."""
        device = self._timing.device
        return 4 * device.glue_ns + device.glue_bit_ns * width <= self._timing.budget

    def _register(self, own: Lin, width: int, quotient: Node | None, factor: int) -> Stepped:
        """A new register for terms of counters and perhaps a multiple of a quotient."""
        moved, start, back = own, own.const, own.const - self._last(own)
        rest: Stepped | None = None
        if quotient is not None:
            assert quotient.quotient_of is not None
            dividend, divisor = quotient.quotient_of
            rest = self._rest(quotient)
            start += factor * (dividend.const // divisor)
            moved = Lin(0, tuple((n, 1) for n, _ in (*own.terms, *dividend.terms)))
            back += factor * (dividend.const // divisor - self._last(dividend) // divisor)
        levels = self._range(moved)
        adds = []
        for level in levels:
            grown = self._growth(own, level)
            if quotient is not None:
                grown += factor * self._quotient_growth(quotient, level)
            adds.append(grown % (1 << width))
        start %= 1 << width
        node = self._node(
            width, "quotient" if quotient is not None and not own.terms else "address"
        )
        back %= 1 << width
        return Stepped(node, levels, tuple(adds), start, back, rest=rest, factor=factor)

    def _quotient_growth(self, quotient: Node, level: Level) -> int:
        """What is added to a quotient when a level moves on, without the carry of its remainder."""
        assert quotient.quotient_of is not None
        dividend, divisor = quotient.quotient_of
        moving = self._range(dividend)
        if level in moving:
            return self._growth(dividend, level) // divisor
        inner = self._levels.index(level) > self._levels.index(moving[-1])
        if inner:
            return 0
        return dividend.const // divisor - self._last(dividend) // divisor

    def _last(self, expression: Lin) -> int:
        """The value of an expression of counters in the last iteration."""
        trips = self._counters
        return expression.const + sum(
            factor * ((trips[node.number].trips or 1) - 1) for node, factor in expression.terms
        )

    def _range(self, expression: Lin) -> tuple[Level, ...]:
        """The levels from the outermost to the innermost that an expression depends on."""
        numbers = {node.number for node, _ in expression.terms}
        places = [i for i, level in enumerate(self._levels) if level.iv.number in numbers]
        return tuple(self._levels[places[0] : places[-1] + 1])

    def _growth(self, expression: Lin, level: Level) -> int:
        """How far an expression grows when a level moves on and those inside go back to their start."""
        factors = {node.number: factor for node, factor in expression.terms}
        inner = self._levels[self._levels.index(level) + 1 :]
        back = sum(factors.get(i.iv.number, 0) * ((i.trips or 1) - 1) for i in inner)
        return factors.get(level.iv.number, 0) - back

    # --- nodes ------------------------------------------------------------------------

    def _node(self, width: int, label: str) -> Node:
        return Node(
            self._function.number(),
            "iv",
            width,
            label=label,
            place=self._leaf.place,
            high=(1 << width) - 1,
        )

    @staticmethod
    def _replace(node: Node, register: Stepped, others: Lin, more: int) -> None:
        """Make a node the value of a register, plus other terms and a constant."""
        node.operator, node.op, node.quotient_of = None, "", None
        if others.terms or more % (1 << node.width):
            node.kind = "lin"
            node.data = add(Lin(more, others.terms), symbol(register.node))
            node.operands = tuple(n for n, _ in node.data.terms)
            return
        node.kind, node.operands, node.data = "wire", (register.node,), ("slice", 0)
        if node.width > register.node.width:
            node.data = ("zext", 0)
