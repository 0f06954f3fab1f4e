"""The registers of multiplier blocks: those in front of and behind a product that nothing else reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from .build import Graph
from .nodes import Node, Value


@dataclass(slots=True)
class BlockRegisters:
    """Nodes by number.

    Attributes:
        front: registers that products alone read, which the blocks have at their inputs.
        behind: registers that take a product alone, which the blocks have at their outputs.
        products: those whose register is behind them in the block.
    """

    front: set[int] = field(default_factory=set)
    behind: set[int] = field(default_factory=set)
    products: set[int] = field(default_factory=set)


def block_registers(graph: Graph, sums: Callable[[Node], int]) -> BlockRegisters:
    """Find them; ``sums`` says how many sums join the blocks of a product, -1 where it has none."""
    blocks = {
        number: sums(node)
        for number, node in enumerate(graph.nodes)
        if node.kind == "multiply" and node.made
    }
    blocks = {number: joined for number, joined in blocks.items() if joined >= 0}
    found = BlockRegisters()
    if not blocks:
        return found
    fed = {n for product in blocks for n in _numbers(graph.nodes[product].operands)}
    for number, node in enumerate(graph.nodes):
        if number not in blocks and node.made:
            leaves = {n for n, _ in node.leaves}
            fed -= leaves if node.kind == "logic" else set(_numbers(node.operands))
    fed -= set(_numbers(_read_outside(graph)))
    found.front = {n for n in fed if graph.nodes[n].kind == "register"}
    for number, node in enumerate(graph.nodes):
        if node.kind != "register" or not node.made or len(node.operands[0]) != 1:
            continue
        source = node.operands[0][0][0]
        product = graph.nodes[source]
        if blocks.get(source) == 0 and product.uses <= product.wanted.bit_count():
            found.behind.add(number)
            found.products.add(source)
    return found


def registers_in_blocks(graph: Graph, sums: Callable[[Node], int]) -> list[Node]:
    """The registers that blocks have inside."""
    found = block_registers(graph, sums)
    return [graph.nodes[number] for number in found.front | found.behind]


def _numbers(values: Iterable[Value]) -> Iterable[int]:
    return (number for value in values for number, _, _ in value if number >= 0)


def _read_outside(graph: Graph) -> list[Value]:
    """What outputs, instances and memories read."""
    values = list(graph.outputs)
    values += [value for _, joined in graph.calls for value in joined]
    for memory in graph.memories.values():
        values += [value for written in memory.writes for value in written]
        values += [address for address, _ in memory.reads]
    return values
