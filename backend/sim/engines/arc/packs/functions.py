"""The functions of a model of packs: what a clock edge changes, and what the outputs then are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from .known import in_order, known_values
from .layout import Layout, parts_of, value_type
from .nodes import Memory, Node, Packed, Register, UnpackableError, sources_of
from .values import Values

RESET, PROBING = "rst", "probing__"


def has_order(packed: Packed) -> bool:
    """Whether no lane waits for another lane of the same node."""
    try:
        in_order(packed.roots)
    except UnpackableError:
        return False
    return True


class Functions:
    """The text of a model's functions, ``void (state)`` each.

    Args:
        name: of the model.
    """

    def __init__(self, packed: Packed, layout: Layout, name: str) -> None:
        self._packed = packed
        self._layout = layout
        self._memories = {memory.node: memory for memory in packed.memories}
        self._order = in_order(packed.roots)
        self._known = known_values(self._order, {RESET: 0})
        self._name = name

    @property
    def order(self) -> list[Node]:
        """All nodes, each behind what it is computed from."""
        return self._order

    def settle(self) -> str:
        """The function that computes the outputs."""
        values = self._values()
        for name, node in self._packed.outputs:
            values.prepare([node])
            values.put_port(name, node.width, values.value(node))
        return self._function(f"{self._name}_eval", values.lines)

    def edge(self) -> str:
        """The function for a clock edge outside of reset.

        Registers that look only when probes are asked for are behind a branch.
        """
        probes, others = self._divided()
        text = []
        lines = []
        if probes:
            text.append(self._function(f"{self._name}_probes", self._step(probes, []).lines))
            asked = self._values()
            test = asked.port(PROBING, 1)
            lines = [
                *asked.lines,
                f"  llvm.cond_br {test}, ^probe, ^step",
                "^probe:",
                f"  llvm.call @{self._name}_probes(%s) : (!llvm.ptr) -> ()",
                "  llvm.br ^step",
                "^step:",
            ]
            values = self._step(others, self._packed.memories, first=len(asked.lines))
        else:
            values = self._step(others, self._packed.memories)
        text.append(self._function(f"{self._name}_edge_eval", [*lines, *values.lines]))
        return "\n".join(text)

    def _divided(self) -> tuple[list[Register], list[Register]]:
        """Registers that only probes write, and the others, which must not read those."""
        asleep = known_values(self._order, {RESET: 0, PROBING: 0})
        registers = self._packed.registers
        probes = [r for r in registers if r.enable is not None and asleep.get(r.enable) == 0]
        probes = [r for r in probes if r.reset is None or asleep.get(r.reset) == 0]
        if not any(name == PROBING for name, _ in self._packed.inputs):
            probes = []
        chosen = set(probes)
        others = [r for r in registers if r not in chosen]
        roots = sources_of(others, self._packed.memories)
        if {r.node for r in probes}.isdisjoint(in_order(roots)):
            return probes, others
        return [], registers

    def _values(self, first: int = 0) -> Values:
        return Values(self._layout, self._memories, self._known, first)

    def _step(
        self, registers: list[Register], memories: Sequence[Memory], first: int = 0
    ) -> Values:
        """What registers and memories become: each is stored as soon as it is computed.

        Whoever reads what has been stored took it before: see :meth:`_write`.
        """
        values = self._values(first)
        reached = set(in_order(sources_of(registers, memories)))
        groups: dict[int, list[Register]] = defaultdict(list)
        for register in registers:
            groups[register.group].append(register)
        for group in groups.values():
            for register in group:
                if not register.node.is_vector:
                    self._write(values, register, 0, read=register.node in reached)
            wide = [register for register in group if register.node.is_vector]
            for part in range(max((parts_of(r.node) for r in wide), default=0)):
                for register in wide:
                    if part < parts_of(register.node):
                        self._write(values, register, part, read=register.node in reached)
        for memory in memories:
            for part in range(parts_of(memory.node)):
                self._write_words(values, memory, part)
        return values

    def _write(self, values: Values, register: Register, part: int, *, read: bool) -> None:
        node = register.node
        values.prepare(register.sources)
        value = values.value(register.value, part)
        if register.enable is not None and self._known.get(register.enable) != 1:
            value = values.chosen(register.enable, value, values.value(node, part), node, part)
        if register.reset is not None and self._known.get(register.reset) != 0:
            constant = register.reset_value
            if node.is_bits:
                constant *= (1 << node.lanes) - 1
            other = values.constant(constant, value_type(node))
            value = values.chosen(register.reset, other, value, node, part)
        if read:
            values.value(node, part)
        values.store(value, node, part)

    def _write_words(self, values: Values, memory: Memory, part: int) -> None:
        node = memory.node
        values.prepare(memory.sources)
        for word in range(memory.depth):
            old = value = values.load(node, part, word)
            for address, data, enable in memory.writes:
                mask = values.at_word(address, word, node, part)
                if enable is not None:
                    mask = values.both(mask, values.lane(enable, part, node), node)
                value = values.selected(
                    mask, values.value(data, part), value, node, value_type(node)
                )
            if value is not old:
                values.store(value, node, part, word)

    @staticmethod
    def _function(name: str, lines: list[str]) -> str:
        body = "\n".join(lines)
        return f"llvm.func @{name}(%s: !llvm.ptr) {{\n{body}\n  llvm.return\n}}"
