"""FIFO modules: exact depth, first word falls through, ready and valid from registers.

``in_ready`` is high while fewer than ``depth`` words are held; a word taken in one cycle makes room in
the next. ``bypass`` FIFOs pass a word through in the cycle it comes; they hold what a pipeline has
under way. Those of many words are drawn in :mod:`.deep_fifo`.
"""

from __future__ import annotations

from ..graph.linear import bits_unsigned
from ..netlist.locations import Locations
from ..netlist.memories import Memory, Read, SimulatedMemory, SimulatedRead, SimulatedWrite, Write
from ..netlist.operations import CLOCK, CLOCK_TYPE, Instance
from .builder import ModuleBuilder


def fifo_name(width: int, depth: int, *, bypass: bool) -> str:
    """Name of a FIFO module."""
    return f"{'elastic' if bypass else 'fifo'}_{width}x{depth}"


def fifo_instance(
    label: str,
    module: str,
    width: int,
    depth: int,
    given: tuple[str, str, str, str],
    made: tuple[str, str, str, str],
) -> Instance:
    """A FIFO in a module.

    Args:
        given: what empties it, a word, whether there is one, whether the word at its end is taken.
        made: whether there is room, the word at its end, whether there is one, how many it holds.
    """
    word, bit = f"i{width}", "i1"
    inputs = dict(zip(("rst", "in_data", "in_valid", "out_ready"), given, strict=True))
    kinds = dict.fromkeys(inputs, bit) | {"in_data": word}
    outputs = zip(("in_ready", "out_data", "out_valid", "fill"), made, strict=True)
    widths = {"out_data": word, "fill": f"i{bits_unsigned(depth)}"}
    return Instance(
        label,
        module,
        {"clk": (CLOCK, CLOCK_TYPE), **{p: (value, kinds[p]) for p, value in inputs.items()}},
        [(value, port, widths.get(port, bit)) for port, value in outputs],
    )


def filling(depth: int) -> tuple[str, ...]:
    """Registers of a FIFO whose sum is how many words are in it."""
    return ("some", "full") if depth == 2 else ("count",)


class FifoBuilder:
    """A FIFO module as it is written.

    Ports: ``in_data``, ``in_valid``, ``in_ready``, ``out_data``, ``out_valid``, ``out_ready``, and
    ``fill``, the number of words held. Whether there is a word and whether there is room are bits of
    their own, so that who waits for many FIFOs compares no counts.

    Attributes:
        data, valid, ready: the inputs.
        count: words held.
        some: whether there is a word; ``room``: whether another one fits in.
    """

    def __init__(self, width: int, depth: int, *, bypass: bool) -> None:
        self.width, self.depth = width, depth
        text = self.text = ModuleBuilder(fifo_name(width, depth, bypass=bypass), Locations())
        self.data, self.valid = text.input("in_data", f"i{width}"), text.input("in_valid", "i1")
        self.ready = text.input("out_ready", "i1")
        for port in ("in_data", "in_valid", "in_ready", "out_data", "out_valid", "out_ready"):
            text.reserve(port)
        text.reserve("fill")
        self.bits = bits_unsigned(depth)
        self._full = text.named("full") if depth > 1 else ""
        self.some = text.named("some") if depth > 1 else ""
        if depth == 2:
            one = text.binary("xor", self.some, self._full, 1)
            self.count = text.concat([(self._full, 1), (one, 1)])
        else:
            self.count = text.named("count")
        self._full = self._full or self.count
        self.some = self.some or self.count
        self.room = text.invert(self._full)

    def holds(self, words: int) -> str:
        """Whether so many words are held."""
        return self.text.compare("eq", self.count, self.text.const(words, self.bits), self.bits)

    def finish(self, push: str, pop: str, out: str, available: str) -> ModuleBuilder:
        """Count what is put and taken, and give the outputs."""
        text = self.text
        if self.depth == 2:
            self._count_two(push, pop)
        else:
            self._count_many(push, pop)
        text.output("in_ready", "i1", self.room)
        text.output("out_data", f"i{self.width}", out)
        text.output("out_valid", "i1", available)
        text.output("fill", f"i{self.bits}", self.count)
        return text

    def _count_two(self, push: str, pop: str) -> None:
        """Of two words the two bits are the count: one table before each, and no enable."""
        text = self.text
        stays, fills = text.invert(pop), text.all_of(self.some, push)
        kept = text.all_of(self.some, stays)
        text.register(self.some, text.any_of(push, self._full, kept), 1, reset=0)
        full = text.all_of(text.any_of(self._full, fills), stays)
        text.register(self._full, full, 1, reset=0)

    def _count_many(self, push: str, pop: str) -> None:
        text, bits = self.text, self.bits
        one = text.const(1, bits)
        more = text.binary("add", self.count, one, bits)
        less = text.binary("sub", self.count, one, bits)
        changed = text.binary("xor", push, pop, 1)
        text.register(self.count, text.mux(push, more, less, bits), bits, enable=changed, reset=0)
        if self.depth > 1:
            last, last_place = self.holds(1), self.holds(self.depth - 1)
            text.register(
                self.some, text.any_of(push, text.invert(last)), 1, enable=changed, reset=0
            )
            filled = text.all_of(push, last_place)
            text.register(self._full, filled, 1, enable=changed, reset=0)


def fifo_module(width: int, depth: int, *, bypass: bool) -> ModuleBuilder:
    """The text of a FIFO module with its words in one memory that is read at once."""
    made = FifoBuilder(width, depth, bypass=bypass)
    text = made.text
    available = text.any_of(made.some, made.valid) if bypass else made.some
    push, pop = text.all_of(made.valid, made.room), text.all_of(available, made.ready)
    if bypass:
        through = text.all_of(text.invert(made.some), pop)
        push = text.all_of(push, text.invert(through))
        pop = text.all_of(pop, made.some)
    stored = _storage(text, width, depth, made.data, push, pop)
    out = text.mux(made.some, stored, made.data, width) if bypass else stored
    return made.finish(push, pop, out, available)


def _storage(text: ModuleBuilder, width: int, depth: int, data: str, push: str, pop: str) -> str:
    """The word at the head."""
    if depth == 1:
        return text.register(text.named("word"), data, width, enable=push)
    bits = bits_unsigned(depth - 1)
    head = pointer(text, "head", depth, bits, pop)
    tail = pointer(text, "tail", depth, bits, push)
    return stored_word(text, "stored", (depth, width, bits), head, (tail, data, push))


def stored_word(
    text: ModuleBuilder,
    hint: str,
    size: tuple[int, int, int],
    place: str,
    write: tuple[str, str, str],
) -> str:
    """What a memory holds at a place, in the same cycle.

    Args:
        size: its depth, its width, and the bits of a place.
        write: where it is written, what, and when.
    """
    depth, width, _ = size
    memory, value = text.named(hint), text.fresh()
    text.styled(Memory(memory, depth, width), SimulatedMemory(memory, depth, width))
    read, written = (memory, place, text.const(1, 1)), (memory, *write)
    text.styled(Read(value, read, *size), SimulatedRead(value, read, *size))
    text.styled(Write(written, *size), SimulatedWrite(written, *size))
    return value


def pointer(text: ModuleBuilder, hint: str, depth: int, bits: int, step: str) -> str:
    """A counter of places modulo ``depth``."""
    name = text.named(hint)
    if depth == 2:
        return text.register(name, text.binary("xor", name, step, 1), 1, reset=0)
    following = text.binary("add", name, text.const(1, bits), bits)
    if depth != 1 << bits:
        end = text.compare("eq", name, text.const(depth - 1, bits), bits)
        following = text.mux(end, text.const(0, bits), following, bits)
    return text.register(name, following, bits, enable=step, reset=0)
