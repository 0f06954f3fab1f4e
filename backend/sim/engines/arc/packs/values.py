"""The text of what packs compute: words with a bit for each lane, vectors of lanes, and scalars."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from .known import in_order
from .layout import (
    Layout,
    lanes_of_part,
    parts_of,
    value_type,
)
from .nodes import (
    ALL,
    ANY,
    GATHER,
    INPUT,
    MEMORY,
    READ,
    REGISTER,
    Memory,
    Node,
    UnpackableError,
)
from .words import Words

_BITWISE = {"comb.and": "and", "comb.or": "or", "comb.xor": "xor"}
_LANEWISE = {**_BITWISE, "comb.add": "add", "comb.sub": "sub", "comb.mul": "mul"}
_OF_BITS = {**_BITWISE, "comb.add": "xor", "comb.sub": "xor", "comb.mul": "and"}
_SHIFTS = {"comb.shl": "shl", "comb.shru": "lshr", "comb.shrs": "ashr"}
_PREDICATES = (
    "eq",
    "ne",
    "slt",
    "sle",
    "sgt",
    "sge",
    "ult",
    "ule",
    "ugt",
    "uge",
    *("eq", "ne") * 2,
)


class Values(Words):
    """The values of nodes within one block of a function, each emitted once.

    Args:
        memories: by their nodes.
        known: nodes of one value in all lanes.
        first: how many values the function has before.
    """

    def __init__(
        self,
        layout: Layout,
        memories: Mapping[Node, Memory],
        known: Mapping[Node, int],
        first: int = 0,
    ) -> None:
        super().__init__(layout, first)
        self._memories = memories
        self._known = known
        self._values: dict[tuple[Node, int], str] = {}
        self._prepared: dict[Node, bool] = {}

    # --- nodes --------------------------------------------------------------------

    def prepare(self, roots: Iterable[Node]) -> None:
        """Emit the words and scalars that nodes depend on: these may hang on each other in long chains."""
        fresh = [root for root in roots if root not in self._prepared]
        for node in in_order(fresh, self._prepared):
            if not node.is_vector and node.kind != MEMORY:
                self.value(node)

    def value(self, node: Node, part: int = 0) -> str:
        """A part of a node."""
        key = (node, part)
        if key not in self._values:
            self._values[key] = self._make(node, part)
        return self._values[key]

    def _make(self, node: Node, part: int) -> str:
        if node in self._known:
            value = self._known[node]
            if node.is_bits:
                value *= (1 << node.lanes) - 1
            return self.constant(value, value_type(node))
        if node.kind == REGISTER:
            return self.load(node, part)
        if node.kind == INPUT:
            return self.port(str(node.detail), node.width)
        if node.kind == READ:
            return self._read(node, part)
        if node.kind == GATHER:
            if node.is_vector:
                return self._gather_vector(node, part)
            return self._gather_bits(node) if node.is_bits else self._gather_scalar(node)
        if node.kind in _LANEWISE:
            names = _OF_BITS if node.width == 1 else _LANEWISE
            return self._folded(names[node.kind], node, part)
        if node.kind in _SHIFTS:
            return self._shift(node, part)
        if node.kind in (ALL, ANY):
            return self._masked(node)
        made = {
            "comb.icmp": self._compare,
            "comb.mux": self._mux,
            "comb.concat": self._concat,
            "comb.replicate": self._replicate,
            "comb.extract": self._extract,
        }.get(node.kind)
        if made is None:
            raise UnpackableError(node.kind)
        return made(node, part)

    def _folded(self, name: str, node: Node, part: int) -> str:
        kind = value_type(node)
        args = node.args
        values: list[str] = []
        if kind == "i1" and name in ("and", "or") and len(args) > 2:
            args, values = self._lanes_together(name, args)
        first, *rest = [*values, *(self.value(arg, part) for arg in args)]
        for value in rest:
            first = self.two(name, first, value, kind)
        return first

    def chosen(self, test: Node, then: str, other: str, like: Node, part: int) -> str:
        """One of two values of the form of a part of ``like``."""
        if test in self._known:
            return then if self._known[test] else other
        kind = value_type(like)
        if like.is_bits:
            differ = self.two("xor", then, other, kind)
            return self.two("xor", other, self.two("and", self.value(test), differ, kind), kind)
        mask = self.lane(test, part, like)
        mask_kind = f"vector<{lanes_of_part(like.lanes)}xi1>" if like.is_vector else "i1"
        return self.op(f"llvm.select {mask}, {then}, {other} : {mask_kind}, {kind}")

    def _mux(self, node: Node, part: int) -> str:
        test, then, other = node.args
        return self.chosen(test, self.value(then, part), self.value(other, part), node, part)

    def _compare(self, node: Node, part: int) -> str:
        a, b = node.args
        predicate = _PREDICATES[int(node.detail)]
        if a.is_bits:
            x, y, kind = self.value(a), self.value(b), value_type(a)
            ones = self.constant(-1, kind)
            equal = self.two("xor", self.two("xor", x, y, kind), ones, kind)
            if predicate in ("eq", "ne"):
                return equal if predicate == "eq" else self.two("xor", x, y, kind)
            if predicate in ("ult", "ule", "sgt", "sge"):
                less = self.two("and", self.two("xor", x, ones, kind), y, kind)
            else:
                less = self.two("and", x, self.two("xor", y, ones, kind), kind)
            return self.two("or", less, equal, kind) if predicate.endswith("e") else less
        kind = value_type(a)
        masks = [
            self.op(f'llvm.icmp "{predicate}" {self.value(a, p)}, {self.value(b, p)} : {kind}')
            for p in range(parts_of(a))
        ]
        return self._word(masks, a.lanes) if a.is_vector else masks[0]

    def _extended(self, node: Node, part: int, like: Node) -> str:
        """A narrower node extended by zeros to the form of a part of ``like``."""
        wanted = value_type(like)
        if node.is_bits:
            lanes = lanes_of_part(like.lanes)
            return self._converted(self.lane(node, part, like), f"vector<{lanes}xi1>", wanted)
        return self._converted(self.value(node, part), value_type(node), wanted)

    def _concat(self, node: Node, part: int) -> str:
        kind = value_type(node)
        total, low = "", 0
        for arg in reversed(node.args):
            piece = self._extended(arg, part, node)
            if low:
                piece = self.two("shl", piece, self.constant(low, kind), kind)
            total = self.two("or", total, piece, kind) if total else piece
            low += arg.width
        return total

    def _replicate(self, node: Node, part: int) -> str:
        (arg,) = node.args
        kind = value_type(node)
        if arg.width == node.width:
            return self.value(arg, part)
        total = piece = self._extended(arg, part, node)
        for low in range(arg.width, node.width, arg.width):
            moved = self.two("shl", piece, self.constant(low, kind), kind)
            total = self.two("or", total, moved, kind)
        return total

    def _extract(self, node: Node, part: int) -> str:
        (arg,) = node.args
        low = int(node.detail)
        if arg.width == 1:
            return self.value(arg, part)
        kind = value_type(arg)

        def moved(piece: int) -> str:
            value = self.value(arg, piece)
            return self.two("lshr", value, self.constant(low, kind), kind) if low else value

        if not node.is_bits:
            return self._converted(moved(part), kind, value_type(node))
        mask = f"vector<{lanes_of_part(arg.lanes)}xi1>"
        masks = [self._converted(moved(p), kind, mask) for p in range(parts_of(arg))]
        return self._word(masks, arg.lanes)

    def _shift(self, node: Node, part: int) -> str:
        kind = value_type(node)
        value, amount = (self.value(arg, part) for arg in node.args)
        if node.width == 1:
            if node.kind == "comb.shrs":
                return value
            none = self.two("xor", amount, self.constant(-1, kind), kind)
            return self.two("and", value, none, kind)
        limit = self.constant(node.width, kind)
        within = self.op(f'llvm.icmp "ult" {amount}, {limit} : {kind}')
        mask = f"vector<{lanes_of_part(node.lanes)}xi1>" if node.is_vector else "i1"
        last = self.constant(node.width - 1, kind)
        safe = self.op(f"llvm.select {within}, {amount}, {last} : {mask}, {kind}")
        moved = self.two(_SHIFTS[node.kind], value, safe, kind)
        if node.kind == "comb.shrs":
            return moved
        return self.op(f"llvm.select {within}, {moved}, {self.constant(0, kind)} : {mask}, {kind}")

    # --- lanes of others ----------------------------------------------------------

    def _gather_scalar(self, node: Node) -> str:
        (source,), ((_, lane),) = node.args, node.taken
        if source.is_bits:
            word = self._shifted(self.value(source), source.lanes, -lane)
            return self.resized(word, source.lanes, 1)
        if not source.is_vector:
            return self.value(source)
        each = lanes_of_part(source.lanes)
        vector = self.value(source, lane // each)
        at = self.constant(lane % each, "i64")
        return self.op(f"llvm.extractelement {vector}[{at} : i64] : {value_type(source)}")

    def _gather_bits(self, node: Node) -> str:
        moves: dict[tuple[int, int], int] = defaultdict(int)
        for lane, (number, at) in enumerate(node.taken):
            distance = lane - at if node.args[number].is_bits else 0
            moves[number, distance] |= 1 << lane
        kind, full = f"i{node.lanes}", (1 << node.lanes) - 1
        total = ""
        for (number, distance), mask in moves.items():
            source = node.args[number]
            value = self.value(source)
            if source.is_bits:
                value = self._moved(value, source.lanes, node.lanes, distance)
            else:
                value = self.op(f"llvm.sext {value} : i1 to {kind}")
            if mask != full or source.is_bits and source.lanes > node.lanes:
                value = self.two("and", value, self.constant(mask, kind), kind)
            total = self.two("or", total, value, kind) if total else value
        return total

    def _gather_vector(self, node: Node, part: int) -> str:
        each, kind = lanes_of_part(node.lanes), value_type(node)
        wanted: dict[tuple[Node, int], dict[int, int]] = defaultdict(dict)
        for lane, (number, at) in enumerate(node.taken[part * each : (part + 1) * each]):
            source = node.args[number]
            there = lanes_of_part(source.lanes)
            piece, at = divmod(at, there) if source.is_vector else (0, 0)
            wanted[source, piece][lane] = at
        total, filled = "", set[int]()
        for (source, piece), lanes in wanted.items():
            value = self._spread(self.value(source, piece), source, lanes, each, kind)
            if not total:
                total, filled = value, set(lanes)
                continue
            mask = [each + at if at in lanes else at if at in filled else 0 for at in range(each)]
            total = self._shuffled(total, value, mask, kind, each)
            filled |= set(lanes)
        return total

    def _spread(self, value: str, source: Node, lanes: dict[int, int], each: int, kind: str) -> str:
        """A vector of ``each`` lanes that has lanes of another, or a scalar, at some places."""
        if not source.is_vector:
            return self._splat(value, kind, each)
        there = lanes_of_part(source.lanes)
        if there == each and all(lane == at for lane, at in lanes.items()):
            return value
        mask = [lanes.get(lane, 0) for lane in range(each)]
        return self._shuffled(value, value, mask, value_type(source), each)

    # --- memories -----------------------------------------------------------------

    def at_word(self, address: Node, word: int, like: Node, part: int) -> str:
        """Whether an address is that of a word: as a word of bits, or as lanes of type i1."""
        if like.is_bits:
            if address.width == 1:
                ones = self.constant(-1, value_type(address))
                value = self.value(address)
                return value if word else self.two("xor", value, ones, value_type(address))
            raise UnpackableError("memory of bits")
        if address.width == 1:
            lane = self.lane(address, part, like)
            if word:
                return lane
            kind = f"vector<{lanes_of_part(like.lanes)}xi1>" if like.is_vector else "i1"
            return self.two("xor", lane, self.constant(1, kind), kind)
        kind = value_type(address)
        return self.op(
            f'llvm.icmp "eq" {self.value(address, part)}, {self.constant(word, kind)} : {kind}'
        )

    def _read(self, node: Node, part: int) -> str:
        target, address = node.args
        memory = self._memories[target]
        kind = value_type(node)
        value = self.load(target, part)
        for word in range(1, memory.depth):
            there = self.at_word(address, word, node, part)
            other = self.load(target, part, word)
            value = self.selected(there, other, value, node, kind)
        return value

    def selected(self, mask: str, then: str, other: str, like: Node, kind: str) -> str:
        """One of two values under a mask of :meth:`at_word`."""
        if like.is_bits:
            differ = self.two("xor", then, other, kind)
            return self.two("xor", other, self.two("and", mask, differ, kind), kind)
        mask_kind = f"vector<{lanes_of_part(like.lanes)}xi1>" if like.is_vector else "i1"
        return self.op(f"llvm.select {mask}, {then}, {other} : {mask_kind}, {kind}")

    def both(self, a: str, b: str, like: Node) -> str:
        """The conjunction of two masks."""
        if like.is_bits:
            return self.two("and", a, b, value_type(like))
        kind = f"vector<{lanes_of_part(like.lanes)}xi1>" if like.is_vector else "i1"
        return self.two("and", a, b, kind)
