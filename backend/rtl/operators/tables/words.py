"""The operations of a netlist, bit by bit: what one table can do is a function, the rest are leaves."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from allo.backend.devices import OperatorDelays

from ..netlist import Netlist, Node
from ..timing import node_delay
from .bits import ONE, ZERO, Bit, Tables, Word, is_known


def latest(word: Word) -> float:
    """When the last bit of a value is stable; 0 for a constant."""
    return max(0.0, max((bit.time for bit in word), default=0.0))


class Mapper:
    """Times words of one device family; the bits of one mapper know each other."""

    def __init__(self, device: OperatorDelays) -> None:
        self.device = device
        inputs = device.fanin, max(device.fanin, device.joined_fanin)
        self.tables = Tables(inputs, device.level_ns, device.joined_ns)

    def output(self, net: Netlist, inputs: Sequence[Word]) -> Word:
        """The output of a netlist for the words of its inputs."""
        words: list[Word] = []
        for node in net.nodes:
            words.append(self.word(net, node, [words[i] for i in node.args], inputs))
        return words[net.output]

    def word(
        self, net: Netlist, node: Node, operands: Sequence[Word], inputs: Sequence[Word] = ()
    ) -> Word:
        """The value of one node."""
        match node.op:
            case "input":
                return inputs[node.value]
            case "const":
                return constant(node.value, node.width)
            case "concat":
                return tuple(bit for word in reversed(operands) for bit in word)
            case "extract":
                return operands[0][node.value : node.value + node.width]
            case "replicate":
                return operands[0] * (node.width // len(operands[0]))
            case "and":
                return self._gates(operands, ZERO, ONE)
            case "or":
                return self._gates(operands, ONE, ZERO)
            case "xor":
                return tuple(self._either(a, b) for a, b in zip(*operands, strict=True))
            case "mux":
                return self._mux(*operands)
            case "eq" | "ne":
                return (self._unequal(*operands),)
            case "add" | "sub" if not (node.value and self.device.dsp_add_ns):
                return self._sum(*operands, minus=node.op == "sub")
            case "slt" if all(bit is ZERO for bit in operands[1]):
                return operands[0][-1:]
            case "ult" | "slt":
                return (self._less(*operands),)
            case "shru" if all(map(is_known, operands[0])):
                return (self.tables.table(operands[1]),) * node.width
            case "shl" | "shru" | "shrs" if not all(map(is_known, operands[1])):
                return self._shifted(node.op, *operands)
        late = max(map(latest, operands), default=0.0)
        return self.tables.leaves(late + node_delay(net, node, self.device), node.width)

    def passing(self, when: Word, then: Word, other: Word) -> Word:
        """One of two values, the first where a stage of a pipeline runs and, if given, under a condition."""
        running = (self.tables.leaf(0.0),)
        return self._mux(self._gates((running, when), ZERO, ONE) if when else running, then, other)

    # --- gates --------------------------------------------------------------------------

    def _gates(self, operands: Sequence[Word], absorbing: Bit, neutral: Bit) -> Word:
        return tuple(self._gate(a, b, absorbing, neutral) for a, b in zip(*operands, strict=True))

    def _gate(self, a: Bit, b: Bit, absorbing: Bit, neutral: Bit) -> Bit:
        if a is absorbing or b is absorbing:
            return absorbing
        if a is neutral:
            return b
        return a if b is neutral else self.tables.function((a, b))

    def _either(self, a: Bit, b: Bit) -> Bit:
        if is_known(a):
            a, b = b, a
        if not is_known(b):
            return self.tables.function((a, b))
        if is_known(a):
            return ZERO if a is b else ONE
        return a if b is ZERO else a.inverted()

    def _mux(self, condition: Word, then: Word, other: Word) -> Word:
        (chosen,) = condition
        if is_known(chosen):
            return then if chosen is ONE else other
        chosen = chosen.later(self.device.fanout_ns * max(0.0, log2(len(then) / 8)))
        return tuple(
            a if a is b else self.tables.function((chosen, a, b))
            for a, b in zip(then, other, strict=True)
        )

    def _unequal(self, left: Word, right: Word) -> Bit:
        pairs = zip(left, right, strict=True)
        return self.tables.reduced(self._either(a, b) for a, b in pairs if a is not b)

    # --- carry chains -------------------------------------------------------------------

    def _sum(self, left: Word, right: Word, *, minus: bool) -> Word:
        """A carry chain from the first place on at which both operands have a bit."""
        found: list[Bit] = []
        start, late = -1, 0.0
        for place, (a, b) in enumerate(zip(left, right, strict=True)):
            if start < 0 and (b is ZERO or (a is ZERO and not minus)):
                found.append(a if b is ZERO else b)
                continue
            start = place if start < 0 else start
            late = max(late, self._onto_chain(a, b))
            found.append(self.tables.leaf(late + self._chain(place - start + 1)))
        return tuple(found)

    def total(self, words: Sequence[Word]) -> Word:
        """The sum of several values: rows of full adders, the earliest words first, and one carry chain."""
        waiting = sorted(words, key=latest)
        while len(waiting) > 2:
            columns = list(zip(*waiting[:3], strict=True))
            bits = tuple(map(self.tables.function, columns))
            carries = tuple(map(self.tables.function, columns[:-1]))
            waiting = sorted([bits, (ZERO, *carries), *waiting[3:]], key=latest)
        return self._sum(*waiting, minus=False)

    def _onto_chain(self, left: Bit, right: Bit) -> float:
        """When two bits are at a carry chain.

        Where the table in front of each place of it has inputs to spare, it takes in the logic of the bits'
        difference; the left one is beside it, too, as what is carried where both are equal.
        """
        if not self.device.absorbs:
            return max(left.time, right.time)
        either = self._either(left, right)
        return max(left.time, either.time - self.device.level_ns if either.cuts else either.time)

    def _less(self, left: Word, right: Word) -> Bit:
        late = max(latest(left), latest(right))
        bit_ns = self.device.compare_bit_ns or self.device.carry_bit_ns
        return self.tables.leaf(late + self.device.carry_ns + bit_ns * len(left))

    def _chain(self, bits: int) -> float:
        return self.device.carry_ns + self.device.carry_bit_ns * bits

    # --- shifts -------------------------------------------------------------------------

    def _shifted(self, op: str, value: Word, amount: Word) -> Word:
        """A level of multiplexers for each bit of the amount; zeros or signs where it is too large."""
        width = len(value)
        levels = (width - 1).bit_length()
        if self.device.shift_ns:
            moving = min(levels, sum(not is_known(bit) for bit in amount))
            late = max(latest(value), latest(amount)) + self.device.shift_ns * moving
            return self.tables.leaves(late, width)
        fill = value[-1] if op == "shrs" else ZERO
        for level in range(min(levels, len(amount))):
            step = 1 << level
            filled = (fill,) * min(step, width)
            kept = max(0, width - step)
            moved = filled + value[:kept] if op == "shl" else value[width - kept :] + filled
            value = self._mux(amount[level : level + 1], moved, value)
        too_far = [bit for bit in amount[levels:] if not is_known(bit)]
        if not too_far:
            return value
        return self._mux((self.tables.reduced(too_far),), (fill,) * width, value)


def constant(value: int, width: int) -> Word:
    """The bits of a constant."""
    return tuple(ONE if value >> place & 1 else ZERO for place in range(width))


def complement(word: Word) -> Word:
    """The complement of a value."""
    known = {ZERO: ONE, ONE: ZERO}
    return tuple(known.get(bit) or bit.inverted() for bit in word)


def is_sum(net: Netlist) -> bool:
    """Whether a netlist is the sum or the difference of its inputs, made of tables."""
    node = net.nodes[net.output]
    if node.op not in ("add", "sub") or node.value:
        return False
    widths = [net.nodes[k].width for k in node.args if net.nodes[k].op == "input"]
    return widths == [node.width] * 2
