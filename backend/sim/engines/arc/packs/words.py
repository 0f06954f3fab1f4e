"""Words with a bit for each lane: as masks of vectors, and what they say of many lanes together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict

from .layout import lanes_of_part, mask_bits, value_type
from .moves import Moves, compared_cost, moves_of
from .nodes import ALL, Node, origin_of
from .texts import Text

_FULL = (1 << 64) - 1


class Words(Text, ABC):
    """The values of nodes of one bit, from those of others."""

    @abstractmethod
    def value(self, node: Node, part: int = 0) -> str:
        """A part of a node."""

    def lane(self, node: Node, part: int, like: Node) -> str:
        """A node of one bit as the lanes of a part of ``like``: of type i1, in a vector or alone."""
        if not like.is_vector:
            return self.value(node)
        lanes, bits = lanes_of_part(like.lanes), mask_bits(like)
        key = f"mask {id(node)} {part} {lanes} {bits}"
        if key not in self._texts:
            word = self._shifted(self.value(node), like.lanes, -part * lanes)
            kind = f"vector<{lanes}xi{bits}>"
            chosen = self._list([1 << lane for lane in range(lanes)], kind)
            each = self._splat(self.resized(word, like.lanes, bits), kind, lanes)
            each = self.two("and", each, chosen, kind)
            self._texts[key] = self.op(f'llvm.icmp "eq" {each}, {chosen} : {kind}')
        return self._texts[key]

    def _word(self, masks: list[str], lanes: int) -> str:
        """One word of the lanes of type i1 of all parts."""
        each = lanes_of_part(lanes)
        total = ""
        for part, mask in enumerate(masks):
            bits = self.op(f"llvm.bitcast {mask} : vector<{each}xi1> to i{each}")
            if each > lanes:
                return self.resized(bits, each, lanes)
            width = each * len(masks)
            bits = self._shifted(self.resized(bits, each, width), width, part * each)
            total = self.two("or", total, bits, f"i{width}") if total else bits
        return self.resized(total, each * len(masks), lanes)

    def _lanes_together(self, name: str, args: list[Node]) -> tuple[list[Node], list[str]]:
        """Of the operands of a conjunction or disjunction, many lanes of one word in one comparison.

        Gives the other operands, and the results of the comparisons.
        """
        masks: dict[Node, int] = defaultdict(int)
        for arg in args:
            source, lane = origin_of(arg)
            if source.is_bits:
                masks[source] |= 1 << lane
        masks = {source: mask for source, mask in masks.items() if mask & (mask - 1)}
        results = []
        for source, mask in masks.items():
            kind = value_type(source)
            chosen = self.constant(mask, kind)
            lanes = self.two("and", self.value(source), chosen, kind)
            wanted = chosen if name == "and" else self.constant(0, kind)
            predicate = "eq" if name == "and" else "ne"
            results.append(self.op(f'llvm.icmp "{predicate}" {lanes}, {wanted} : {kind}'))
        return [arg for arg in args if origin_of(arg)[0] not in masks], results

    def _masked(self, node: Node) -> str:
        """Whether all, or any, of some lanes of words are set, for each lane other ones."""
        name = "and" if node.kind == ALL else "or"
        kind = value_type(node)
        ones = self.constant(-1, kind)
        total, compared = "", []
        for arg, masks in zip(node.args, node.masks, strict=True):
            moves = moves_of(masks)
            if moves.cost > compared_cost(arg.lanes, node.lanes):
                compared.append((arg, masks))
                continue
            value = self._any_moved(arg, moves, node.lanes, inverted=node.kind == ALL)
            value = self.two("xor", value, ones, kind) if node.kind == ALL else value
            total = self.two(name, total, value, kind) if total else value
        if compared or not total:
            value = self._compared(node, compared)
            total = self.two(name, total, value, kind) if total else value
        return total

    def _any_moved(self, source: Node, moves: Moves, lanes: int, *, inverted: bool) -> str:
        """A word with a bit for each lane: whether any that moves to it is set, or is not set."""
        value, of, kind = self.value(source), value_type(source), f"i{lanes}"
        if inverted:
            value = self.two("xor", value, self.constant(-1, of), of)
        pieces = [
            (self._moved(value, source.lanes, lanes, distance), mask)
            for distance, mask in moves.by.items()
        ]
        for bit, mask in moves.spread.items():
            alone = self.resized(self._shifted(value, source.lanes, -bit), source.lanes, 1)
            pieces.append((self.op(f"llvm.sext {alone} : i1 to {kind}"), mask))
        total = self.constant(0, kind)
        for piece, mask in pieces:
            chosen = self.two("and", piece, self.constant(mask, kind), kind)
            total = self.two("or", total, chosen, kind)
        return total

    def _moved(self, value: str, bits: int, lanes: int, distance: int) -> str:
        """A word of ``bits`` as one of ``lanes``, moved to the left."""
        room = max(bits, lanes)
        moved = self._shifted(self.resized(value, bits, room), room, distance)
        return self.resized(moved, room, lanes)

    def _compared(self, node: Node, found: list[tuple[Node, list[int]]]) -> str:
        """As :meth:`_masked`, by comparisons of vectors."""
        name, predicate = ("and", "eq") if node.kind == ALL else ("or", "ne")
        each = lanes_of_part(node.lanes)
        kind, mask_kind = f"vector<{each}xi64>", f"vector<{each}xi1>"
        parts = []
        for start in range(0, node.lanes, each):
            total = ""
            for arg, masks in found:
                for low in range(0, arg.lanes, 64):
                    cut = [mask >> low & _FULL for mask in masks[start : start + each]]
                    if not any(cut):
                        continue
                    wanted = self._list(cut + [0] * (each - len(cut)), kind)
                    word = self._shifted(self.value(arg), arg.lanes, -low)
                    lanes = self._splat(self.resized(word, arg.lanes, 64), kind, each)
                    lanes = self.two("and", lanes, wanted, kind)
                    other = wanted if node.kind == ALL else self.constant(0, kind)
                    test = self.op(f'llvm.icmp "{predicate}" {lanes}, {other} : {kind}')
                    total = self.two(name, total, test, mask_kind) if total else test
            parts.append(total or self.constant(node.kind == ALL, mask_kind))
        return self._word(parts, node.lanes)
