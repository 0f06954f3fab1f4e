"""Nodes made of values: constants folded, equal operations made one."""

from __future__ import annotations

from allo.backend.devices import Cells

from .nodes import (
    ONE,
    ZERO,
    Node,
    Run,
    Value,
    aligned,
    bits_known,
    constant,
    cut,
    extended,
    is_constant,
    join,
    one_of,
    repeat,
    repeats_one,
    significant,
    trailing_zeros,
    width_of,
)


class Folding:
    """Makes the nodes of one module.

    Args:
        family: what the module is to be made of.
    """

    def __init__(self, family: Cells) -> None:
        self._family = family
        self.nodes: list[Node] = []
        self._known: dict[tuple[object, ...], Value] = {}
        self._section = self._place = ""

    def _node(
        self, kind: str, width: int, operands: tuple[Value, ...] = (), detail: str = ""
    ) -> Value:
        section, place = self._section, self._place
        self.nodes.append(Node(kind, width, operands, detail, section=section, place=place))
        return ((len(self.nodes) - 1, 0, width),)

    def _once(self, kind: str, width: int, operands: tuple[Value, ...], detail: str = "") -> Value:
        either_way = kind in ("multiply", "equal") or detail == "add"
        known = tuple(sorted(operands)) if either_way else operands
        key = (kind, width, known, detail)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._node(kind, width, operands, detail)
        return found

    def _one_bit_moved(self, width: int, moved: Value, amount: Value) -> Value:
        """A bit at a place that varies: a decoder of the place, and the bit where it is not known."""
        decoded = self._once("shift", width, (constant(1, width), amount), "left")
        bit = cut(moved, 0, 1)
        return decoded if is_constant(bit) else self._bitwise("and", [decoded, repeat(bit, width)])

    def _bitwise(self, kind: str, operands: list[Value]) -> Value:
        if len(operands) == 1:
            return operands[0]
        parts = [self._bits(kind, count, runs) for _, count, runs in aligned(operands)]
        return join(parts)

    def _bits(self, kind: str, count: int, runs: list[Run]) -> Value:
        if count > 1 and repeats_one(runs):
            return repeat(self._bits(kind, 1, [one_of(run) for run in runs]), count)
        kept: list[Run] = []
        flips = 0
        for run in dict.fromkeys(runs) if kind != "xor" else runs:
            node = run[0]
            if kind == "and" and node == ZERO or kind == "or" and node == ONE:
                return ((node, 0, count),)
            if node >= 0:
                kept.append(run)
            elif kind == "xor" and node == ONE:
                flips ^= 1
        if not kept:
            empty = {"and": ONE, "or": ZERO, "xor": ONE if flips else ZERO}[kind]
            return ((empty, 0, count),)
        if len(kept) == 1 and not flips:
            return (kept[0],)
        return self._logic(f"{kind}{flips}", count, kept, associative=True)

    def _logic(self, detail: str, count: int, runs: list[Run], *, associative: bool) -> Value:
        order = sorted(runs) if associative and not detail.startswith("gate") else runs
        value = self._once("logic", count, tuple((run,) for run in order), detail)
        self.nodes[value[0][0]].associative = associative
        return value

    def _mux(self, choice: Value, then: Value, other: Value) -> Value:
        if choice[0][0] < 0:
            return then if choice[0][0] == ONE else other
        width = width_of(then)
        needed, signed = _needed([significant(then), significant(other)], subtracts=False)
        if needed < width:
            kept = self._mux(choice, cut(then, 0, needed), cut(other, 0, needed))
            return extended(kept, width, signed=signed)
        parts = []
        for _, count, (a, b) in aligned([then, other]):
            control = repeat(choice, count)[0]
            parts.append((a,) if a == b else self._choice(count, control, a, b))
        return join(parts)

    def _choice(self, count: int, control: Run, a: Run, b: Run) -> Value:
        if count > 1 and repeats_one([control, a, b]):
            return repeat(self._choice(1, one_of(control), one_of(a), one_of(b)), count)
        if a[0] < 0 and b[0] < 0:
            inverted = self._logic("xor1", count, [control], associative=True)
            return (control,) if a[0] == ONE else inverted
        if a[0] < 0 or b[0] < 0:
            kept = b if a[0] < 0 else a
            detail = f"gate{min(a[0], 0)}{min(b[0], 0)}"
            return self._logic(detail, count, [control, kept], associative=True)
        joined = self._one_choice(count, control, a, b)
        return joined or self._logic("mux", count, [control, a, b], associative=False)

    def _one_choice(self, count: int, control: Run, a: Run, b: Run) -> Value:
        """A choice of a word, and of a choice that has it too, as one choice; none where it is not that.

        ``c ? (s ? a : b) : b`` is ``c & s ? a : b``: a gate for all bits in place of a table for each.
        """
        for inner, other, taken in ((a, b, True), (b, a, False)):
            found = self._choice_of(inner)
            if other not in found[1:]:
                continue
            choice, then, instead = found
            kept = instead if then == other else then
            # the word that only the inner choice has is taken where both choose it
            outer = self._switched((one_of(control) if count > 1 else control,), taken)
            own = self._switched((one_of(choice) if count > 1 else choice,), kept == then)
            both = repeat(self._bitwise("and", [outer, own]), count)[0]
            return (
                self._mux(((both[0], 0, 1),), (kept,), (other,))
                if both[0] < 0
                else self._choice(count, both, kept, other)
            )
        return ()

    def _choice_of(self, run: Run) -> tuple[Run, ...]:
        """The control and the words of a choice, as the bits of a run read them; none of anything else."""
        node = self.nodes[run[0]] if run[0] >= 0 else None
        if node is None or node.detail != "mux" or run[1] < 0:
            return ()
        return tuple(cut(value, run[1], run[2])[0] for value in node.operands)

    def _switched(self, bit: Value, as_it_is: bool) -> Value:
        return bit if as_it_is else self._bitwise("xor", [bit, constant(1, 1)])

    def _sum(self, name: str, width: int, operands: list[Value]) -> Value:
        if name == "comb.add" and is_constant(operands[0]):
            operands = operands[::-1]
        if all(node == ZERO for node, _, _ in operands[-1]):
            return operands[0]
        if all(is_constant(value) for value in operands):
            a, b = (bits_known(value) for value in operands)
            return constant(a + b if name == "comb.add" else a - b, width)
        borrowed = self._borrowed(name, operands)
        if borrowed is not None:
            name, operands = "comb.add", borrowed
        if name == "comb.sub" and is_constant(operands[0]):
            known, (size, signed) = bits_known(operands[0]), significant(operands[1])
            if not signed and known + 1 >= 1 << size and known & (known + 1) == 0:
                return self._bitwise("xor", operands)  # nothing is borrowed
        low, first = trailing_zeros(operands[1]), operands[0]
        if name == "comb.add" and trailing_zeros(operands[0]) > low:
            low, first = trailing_zeros(operands[0]), operands[1]  # nothing is carried from there
        if low and any(is_constant(cut(value, low, width - low)) for value in operands):
            rest = [cut(value, low, width - low) for value in operands]
            return join([cut(first, 0, low), self._sum(name, width - low, rest)])
        needed, signed = _needed([significant(value) for value in operands], name == "comb.sub")
        wraps = needed >= width
        needed = min(width, needed + 1)
        cuts = tuple(cut(value, low, needed - low) for value in operands)
        most = self._family.small if is_constant(cuts[1]) else 2
        if needed - low <= most and not all(is_constant(value) for value in cuts):
            total = self._small_sum(name, needed - low, cuts)
        else:
            total = self._once("add", needed - low, cuts, name[5:])
            node = self.nodes[total[0][0]]
            node.written, node.wraps, node.below = width, wraps, node.below | {low}
        joined = join([cut(first, 0, low), total]) if low else total
        return extended(joined, width, signed=signed)

    def _borrowed(self, name: str, operands: list[Value]) -> list[Value] | None:
        """``a`` and ``~b`` where the sum is ``a - b - 1``, for synthesis makes one carry chain of it."""
        known = operands[1]
        if not is_constant(known) or len(operands[0]) != 1:
            return None
        number, low, width = operands[0][0]
        ones = (1 << width) - 1
        if bits_known(known) != (1 if name == "comb.sub" else ones) or low or number < 0:
            return None
        inner = self.nodes[number]
        if inner.kind != "add" or inner.detail != "sub" or inner.width != width:
            return None
        first, second = inner.operands
        return [first, self._bitwise("xor", [second, constant(ones, width)])]

    def _small_sum(self, name: str, width: int, operands: tuple[Value, ...]) -> Value:
        """A sum of so few bits that each of them is one lookup table, which takes in what is around it."""
        known = ".".join(str(bits_known(v)) if is_constant(v) else "" for v in operands)
        found = [self._bitwise("xor", [cut(value, 0, 1) for value in operands])]
        for place in range(1, width):
            runs = [cut(v, bit, 1)[0] for v in operands for bit in range(place + 1)]
            read = list(dict.fromkeys(run for run in runs if run[0] >= 0))
            found.append(self._logic(f"{name}{place}.{known}", 1, read, associative=False))
        return join(found)

    def _compare(self, kind: str, a: Value, b: Value) -> Value:
        if kind[0] == "u" and any(self._inverts(cut(v, width_of(v) - 1, 1)) for v in (a, b)):
            signed = [self._with_other_sign(value) for value in (a, b)]
            if signed[0] and signed[1]:
                # the tables in front of a carry chain take in what inverts both sign bits
                return self._compare(f"s{kind[1:]}", signed[0], signed[1])
        if is_constant(a) != is_constant(b):
            read = [cut(b if is_constant(a) else a, bit, 1)[0] for bit in range(width_of(a))]
            bits = list(dict.fromkeys(run for run in read if run[0] >= 0))
            if len(bits) <= self._family.few:
                return self._logic(f"{kind} {a} {b}", 1, bits, associative=False)
        same = _same_above(a, b) if kind[0] == "u" else 0
        if same and (rest := width_of(a) - same):
            return self._compare(kind, cut(a, 0, rest), cut(b, 0, rest))
        if kind in ("eq", "ne"):
            return self._once("equal", 1, (a, b) if not is_constant(a) else (b, a), kind)
        if kind in ("slt", "ult", "sgt", "ugt"):
            low, high = (a, b) if kind.endswith("lt") else (b, a)
            if all(node == ZERO for node, _, _ in low) and high[-1][0] == ZERO:
                return self._compare("ne", high, low)
        tested = b if kind in ("slt", "sge") else a
        if kind[0] == "s" and all(node == ZERO for node, _, _ in tested):
            sign = cut(a if tested is b else b, width_of(a) - 1, 1)
            return sign if kind.endswith("t") else self._bitwise("xor", [sign, constant(1, 1)])
        return self._above_half(kind, a, b) or self._once("less", 1, (a, b), kind)

    def _above_half(self, kind: str, a: Value, b: Value) -> Value:
        """Whether an unsigned value is more than its highest bit alone: no carry chain; none of another."""
        low, high = (a, b) if kind in ("ult", "uge") else (b, a)
        below = width_of(a) - 1
        if kind[0] != "u" or not below or not is_constant(low) or bits_known(low) != 1 << below:
            return ()
        some = self._compare("ne", cut(high, 0, below), constant(0, below))
        found = self._bitwise("and", [cut(high, below, 1), some])
        return found if kind in ("ult", "ugt") else self._switched(found, False)

    def _inverts(self, bit: Value) -> bool:
        """Whether a bit is the opposite of another one."""
        node = self.nodes[bit[0][0]] if bit[0][0] >= 0 else None
        return node is not None and node.detail == "xor1" and len(node.operands) == 1

    def _with_other_sign(self, value: Value) -> Value:
        """A value whose highest bit is the opposite; none where a table would have to make that bit."""
        width = width_of(value)
        top = cut(value, width - 1, 1)
        if is_constant(top):
            other: Value = constant(top[0][0] == ZERO, 1)
        elif self._inverts(top):
            (inverted,) = self.nodes[top[0][0]].operands
            place = top[0][1] if top[0][1] >= 0 else ~top[0][1]
            other = cut(inverted, place, 1)
        else:
            return ()
        return join([cut(value, 0, width - 1), other])

    def _product(self, width: int, a: Value, b: Value) -> Value:
        for factor, other in ((a, b), (b, a)):
            zeros = trailing_zeros(factor) if is_constant(factor) else 0
            if 0 < zeros < width:
                # the Verilog has zeros at the end of a constant below the product
                rest = width - zeros
                above = self._product(rest, cut(other, 0, rest), cut(factor, zeros, rest))
                return join([constant(0, zeros), above])
            if is_constant(factor) and bits_known(factor) == 1:
                return other
        (wide, first), (narrow, second) = significant(a), significant(b)
        needed = min(width, wide + narrow)
        found = self._once("multiply", needed, (a, b), str(width))
        return extended(found, width, signed=first or second)

    def _chosen(self, words: Value, index: Value, width: int) -> Value:
        """One of several words, the lowest of them for index 0."""
        if width_of(words) == width:
            return words
        size = width_of(index)
        half = width << size - 1
        low = cut(words, 0, min(half, width_of(words)))
        below = self._chosen(low, cut(index, 0, size - 1), width) if size > 1 else low
        if width_of(words) <= half:
            return below
        high = cut(words, half, width_of(words) - half)
        above = self._chosen(high, cut(index, 0, size - 1), width) if size > 1 else high
        return self._mux(cut(index, size - 1, 1), above, below)


def _needed(operands: list[tuple[int, bool]], subtracts: bool) -> tuple[int, bool]:
    """Bits that hold every operand of a sum, and whether the sum is signed."""
    signed = subtracts or any(kind for _, kind in operands)
    return max(width + (signed and not kind) for width, kind in operands), signed


def _same_above(a: Value, b: Value) -> int:
    """The highest bits that are known of two values, and the same."""
    found = 0
    for _, count, (left, right) in reversed(aligned([a, b])):
        if left != right or left[0] >= 0:
            break
        found += count
    return found
