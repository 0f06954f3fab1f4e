"""Arrays in Structs: a tuple of the elements in the tuple of the fields."""

from __future__ import annotations

from allo.dialects.types import Block

from ..body import Body
from ..running.arrays import row_major, size_of
from .values import Value


def array_of(value: Value) -> Value:
    """The array that is a field, to be read."""
    block = value.dtype
    if not isinstance(block, Block):
        return value
    view = (value.code, "0", row_major(block.shape))
    return Value(block.element, shape=block.shape, view=view, in_struct=True)


def array_in(body: Body, block: Block, read: str, write: str) -> Value:
    """The array that is a field, to be stored to, or passed by reference.

    Args:
        read, write: texts of its present value, and of a statement that stores it.
    """
    name, store = body.temporary(), body.temporary()
    body.emit(f"def {store}({name}v):")
    written = write.format(f"{name}v")
    with body.indented():
        target = written.split(" = ", 1)[0]
        if target.isidentifier():
            body.emit(f"nonlocal {target}")
        body.emit(written)
    body.emit(f"{name} = Inside({size_of(block.shape)}, lambda: {read}, {store})")
    return Value(
        block.element, shape=block.shape, view=(name, "0", row_major(block.shape)), in_struct=True
    )
