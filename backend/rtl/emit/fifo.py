"""FIFO modules: exact depth, first word falls through, ready and valid from registers.

``in_ready`` is high while fewer than ``depth`` words are held; a word taken in one cycle makes room in
the next. ``bypass`` FIFOs pass a word through in the cycle it comes; they hold what a pipeline has
under way.
"""

from __future__ import annotations

from ..graph.linear import bits_unsigned
from .text import Locations, ModuleText


def fifo_name(width: int, depth: int, *, bypass: bool) -> str:
    """Name of a FIFO module."""
    return f"{'elastic' if bypass else 'fifo'}_{width}x{depth}"


def fifo_module(width: int, depth: int, *, bypass: bool) -> ModuleText:
    """The text of a FIFO module.

    Ports: ``in_data``, ``in_valid``, ``in_ready``, ``out_data``, ``out_valid``, ``out_ready``, and
    ``fill``, the number of words held.
    """
    text = ModuleText(fifo_name(width, depth, bypass=bypass), Locations())
    data, valid = text.input("in_data", f"i{width}"), text.input("in_valid", "i1")
    ready = text.input("out_ready", "i1")
    for name in ("in_data", "in_valid", "in_ready", "out_data", "out_valid", "out_ready", "fill"):
        text.reserve(name)
    bits = bits_unsigned(depth)
    count = text.named("count")
    full = text.compare("eq", count, text.const(depth, bits), bits)
    empty = text.compare("eq", count, text.const(0, bits), bits)
    room, some = text.invert(full), text.invert(empty)
    available = text.any_of(some, valid) if bypass else some
    push, pop = text.all_of(valid, room), text.all_of(available, ready)
    if bypass:
        through = text.all_of(empty, pop)
        push = text.all_of(push, text.invert(through))
        pop = text.all_of(pop, some)
    stored = _storage(text, width, depth, data, push, pop)
    _count(text, count, bits, push, pop)
    out = text.mux(some, stored, data, width) if bypass else stored
    text.output("in_ready", "i1", room)
    text.output("out_data", f"i{width}", out)
    text.output("out_valid", "i1", available)
    text.output("fill", f"i{bits}", count)
    return text


def _count(text: ModuleText, count: str, bits: int, push: str, pop: str) -> None:
    one = text.const(1, bits)
    more, less = text.binary("add", count, one, bits), text.binary("sub", count, one, bits)
    changed = text.binary("xor", push, pop, 1)
    text.register(count, text.mux(push, more, less, bits), bits, enable=changed, reset=0)


def _storage(text: ModuleText, width: int, depth: int, data: str, push: str, pop: str) -> str:
    """The word at the head."""
    if depth == 1:
        return text.register(text.named("word"), data, width, enable=push)
    bits = bits_unsigned(depth - 1)
    head = _pointer(text, "head", depth, bits, pop)
    tail = _pointer(text, "tail", depth, bits, push)
    memory, value = text.named("stored"), text.fresh()
    always = text.const(1, 1)
    text.styled(
        f"{memory} = seq.hlmem @stored %clk, %rst : <{depth}xi{width}>",
        f"{memory} = seq.firmem 0, 1, undefined, undefined : <{depth} x {width}>",
    )
    text.styled(
        f"{value} = seq.read {memory}[{head}] rden {always} {{ latency = 0}} "
        f": !seq.hlmem<{depth}xi{width}>",
        f"{value} = seq.firmem.read_port {memory}[{head}], clock %clk enable {always} "
        f": <{depth} x {width}>",
    )
    text.styled(
        f"seq.write {memory}[{tail}] {data} wren {push} {{ latency = 1}} "
        f": !seq.hlmem<{depth}xi{width}>",
        f"seq.firmem.write_port {memory}[{tail}] = {data}, clock %clk enable {push} "
        f": <{depth} x {width}>",
    )
    return value


def _pointer(text: ModuleText, hint: str, depth: int, bits: int, step: str) -> str:
    name = text.named(hint)
    following = text.binary("add", name, text.const(1, bits), bits)
    if depth != 1 << bits:
        end = text.compare("eq", name, text.const(depth - 1, bits), bits)
        following = text.mux(end, text.const(0, bits), following, bits)
    return text.register(name, following, bits, enable=step, reset=0)
