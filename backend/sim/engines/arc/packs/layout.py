"""Where the state of packs lies: words with a bit for each lane, and rows of lanes."""

from __future__ import annotations

from dataclasses import dataclass, field

from .nodes import Memory, Node, Packed, Register

LANES = 16
"""Lanes of a vector."""
ALIGNMENT = 64


def lanes_of_part(lanes: int) -> int:
    """Lanes of one vector of a node, a power of two."""
    return min(LANES, 1 << (lanes - 1).bit_length())


def parts_of(node: Node) -> int:
    """How many values hold a node: vectors of its lanes, or one."""
    return -(-node.lanes // lanes_of_part(node.lanes)) if node.is_vector else 1


def value_type(node: Node) -> str:
    """The type of one part of a node."""
    if node.is_vector:
        return f"vector<{lanes_of_part(node.lanes)}xi{node.width}>"
    return f"i{node.lanes if node.is_bits else node.width}"


def cell_bits(node: Node) -> int:
    """Bits of memory of a word, or of each lane of a vector."""
    bits = node.lanes if node.is_bits else node.width
    return max(8, 1 << (bits - 1).bit_length()) if bits <= 64 else -(-bits // 64) * 64


def mask_bits(node: Node) -> int:
    """Bits of the lanes in which a word becomes a mask for a part of a node, at least one for each lane.

    Lanes of a machine's size: to spread a word over bits of a vector, LLVM takes each bit out alone.
    """
    return max(LANES, 1 << (node.width - 1).bit_length())


def stored_type(node: Node) -> str:
    """The type of one part of a node in memory."""
    if node.is_vector:
        return f"vector<{lanes_of_part(node.lanes)}xi{cell_bits(node)}>"
    return f"i{cell_bits(node)}"


def part_bytes(node: Node) -> int:
    """Bytes of one part of a node in memory."""
    return cell_bits(node) // 8 * (lanes_of_part(node.lanes) if node.is_vector else 1)


def alignment_of(node: Node) -> int:
    """To what the parts of a node are aligned."""
    piece = part_bytes(node)
    return min(ALIGNMENT, piece) if piece & (piece - 1) == 0 else 8


@dataclass(slots=True)
class Layout:
    """Byte offsets in the block of state.

    Attributes:
        ports: of each input and output.
        places: of each register, and of each memory its first word; the words of a memory lie behind
            each other, each with all its lanes.
    """

    size: int = 0
    ports: dict[str, int] = field(default_factory=dict)
    places: dict[Node, int] = field(default_factory=dict)

    @classmethod
    def of(cls, packed: Packed) -> Layout:
        """The layout of a design."""
        layout = cls()
        widths = [*packed.inputs, *((name, node.width) for name, node in packed.outputs)]
        for name, width in widths:
            layout.ports[name] = layout._take(-(-width // 8), 8)
        for register in packed.registers:
            layout.places[register.node] = layout._rows(register.node)
        for memory in packed.memories:
            layout.places[memory.node] = layout._rows(memory.node, memory.depth)
        layout.size = -(-layout.size // ALIGNMENT) * ALIGNMENT
        return layout

    def _take(self, count: int, alignment: int) -> int:
        start = -(-self.size // alignment) * alignment
        self.size = start + count
        return start

    def _rows(self, node: Node, words: int = 1) -> int:
        return self._take(part_bytes(node) * parts_of(node) * words, alignment_of(node))

    def offset(self, node: Node, part: int, word: int = 0) -> int:
        """Where a part of a register, or of a word of a memory, lies."""
        return self.places[node] + part_bytes(node) * (word * parts_of(node) + part)

    def bit_of(self, register: Register, lane: int) -> int:
        """The bit of the block at which a lane of a register begins."""
        node = register.node
        if node.is_bits:
            return 8 * self.places[node] + lane
        return 8 * self.places[node] + lane * cell_bits(node)

    def memory_rows(self, memory: Memory) -> tuple[int, int, int, int]:
        """Offset, cells, bits and bytes from cell to cell of a memory."""
        node = memory.node
        cells = memory.depth * parts_of(node)
        if node.is_vector:
            cells *= lanes_of_part(node.lanes)
        bits = node.lanes if node.is_bits else node.width
        return self.places[node], cells, bits, cell_bits(node) // 8
