"""FIFO modules of many words, whose memory is block RAM: cycle for cycle those of :mod:`.fifo`.

The memory answers a cycle after it is asked. So the first two words stand in registers in front of it,
and a third at its output: a word that comes when two are held at most goes to a register, and every other
word is read before its turn comes. ::

    in ──────────┬──────────────▶ second ─┐
                 ├─▶ memory ─▶ fetched ───┼─▶ first ─▶ out
                 └────────────────────────┘

A word in ``second`` is older than those behind it, and what is in ``fetched`` is older than the memory's.
A word that comes as the third is read in the next cycle and stands at the memory's output in the one after
that, in which it may have become the second. It never has to be the first any sooner.
"""

from __future__ import annotations

from ..graph.linear import bits_unsigned
from ..netlist.memories import Memory, Read, Write
from .builder import ModuleBuilder
from .fifo import FifoBuilder, fifo_module, pointer

LEAST_BITS = 16 * 1024
LEAST_WORDS = 128
"""What a memory holds at least to be made of block RAM."""


def is_deep(width: int, depth: int, *, bypass: bool) -> bool:
    """Whether a FIFO is made of block RAM."""
    return not bypass and depth >= LEAST_WORDS and width * depth >= LEAST_BITS


def fifo_of(width: int, depth: int, *, bypass: bool, native: bool = False) -> ModuleBuilder:
    """A FIFO module as its size asks for; the in-process simulator has one memory, which moves no words."""
    if is_deep(width, depth, bypass=bypass) and not native:
        return deep_fifo_module(width, depth)
    return fifo_module(width, depth, bypass=bypass)


def deep_fifo_module(width: int, depth: int) -> ModuleBuilder:
    """The text of a FIFO module of block RAM; the ports are those of every FIFO."""
    made = FifoBuilder(width, depth, bypass=False)
    text = made.text
    some, push, pop = (
        made.some,
        text.all_of(made.valid, made.room),
        text.all_of(made.some, made.ready),
    )
    second, fetched, waiting = (text.named(name) for name in ("second", "fetched", "waiting"))
    # What is held after a word is taken decides where one that comes goes.
    one, two, keep = made.holds(1), made.holds(2), text.invert(pop)
    alone = text.any_of(text.invert(some), text.all_of(pop, one))
    behind_one = text.any_of(text.all_of(pop, two), text.all_of(keep, one))
    to_first, to_second = text.all_of(push, alone), text.all_of(push, behind_one)
    to_memory = text.all_of(push, text.invert(alone), text.invert(behind_one))
    used = text.all_of(pop, text.invert(second), fetched)
    read = text.all_of(waiting, text.any_of(text.invert(fetched), used))
    word = _memory(text, width, depth, made.data, to_memory, read)
    text.register(second, text.any_of(to_second, text.all_of(second, keep)), 1, reset=0)
    text.register(fetched, text.any_of(read, text.all_of(fetched, text.invert(used))), 1, reset=0)
    _waiting(text, depth, waiting, to_memory, read)
    later = text.register(text.named("second_word"), made.data, width, enable=to_second)
    following = text.mux(second, later, text.mux(fetched, word, made.data, width), width)
    first = text.register(
        text.named("first_word"), following, width, enable=text.any_of(pop, to_first)
    )
    return made.finish(push, pop, first, some)


def _waiting(text: ModuleBuilder, depth: int, waiting: str, put: str, read: str) -> None:
    """Whether the memory has words that are still to be read."""
    bits = bits_unsigned(depth)
    left, one = text.named("left"), text.const(1, bits)
    changed = text.binary("xor", put, read, 1)
    more, less = text.binary("add", left, one, bits), text.binary("sub", left, one, bits)
    text.register(left, text.mux(put, more, less, bits), bits, enable=changed, reset=0)
    last = text.compare("eq", left, one, bits)
    text.register(waiting, text.any_of(put, text.invert(last)), 1, enable=changed, reset=0)


def _memory(text: ModuleBuilder, width: int, depth: int, data: str, put: str, read: str) -> str:
    """The word that was read last; it stands until another one is."""
    bits = bits_unsigned(depth - 1)
    head, tail = (
        pointer(text, hint, depth, bits, step) for hint, step in (("head", read), ("tail", put))
    )
    memory, value, always = text.named("stored"), text.fresh(), text.const(1, 1)
    text.add(Memory(memory, depth, width, separate=True))
    text.add(Read(value, (memory, head, always), depth, width, bits))
    text.add(Write((memory, tail, data, put), depth, width, bits))
    return text.register(text.named("stored_word"), value, width, enable=read)
