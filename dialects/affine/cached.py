"""What is known of a buffer that the primitive ``cache`` made, noted at its allocation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .._mlir import ir
from .loops import walk

ATTRIBUTE = "cached"


@dataclass(frozen=True, slots=True)
class Cached:
    """A buffer for a part of an array.

    Attributes:
        array: the array's name.
        loop: whose iterations each have a buffer.
        inside: for loops inside of it, how many elements a buffer there would have.
    """

    array: str
    loop: str
    inside: Mapping[str, int]

    def note(self, alloc: ir.Operation) -> None:
        """Write what :func:`caches_of` reads."""
        kind = ir.IntegerType.get_signless(64)
        sizes = {name: ir.IntegerAttr.get(kind, count) for name, count in self.inside.items()}
        alloc.attributes[ATTRIBUTE] = ir.DictAttr.get(
            {
                "array": ir.StringAttr.get(self.array),
                "inside": ir.DictAttr.get(sizes),
                "loop": ir.StringAttr.get(self.loop),
            }
        )


def caches_of(module: ir.Operation) -> Iterator[tuple[ir.Operation, Cached]]:
    """The allocations of caches, and what is known of them."""
    for op in walk(module):
        if op.name != "memref.alloc" or ATTRIBUTE not in op.attributes:
            continue
        fields = ir.DictAttr(op.attributes[ATTRIBUTE])
        sizes = ir.DictAttr(fields["inside"])
        yield (
            op,
            Cached(
                ir.StringAttr(fields["array"]).value,
                ir.StringAttr(fields["loop"]).value,
                {each.name: int(ir.IntegerAttr(each.attr).value) for each in sizes},
            ),
        )
