"""The ends of AXI4-Streams: a queue of two words each, and TLAST on the last word that leaves.

A word that leaves is held until the next one is there, or until it is known that none follows.
"""

from __future__ import annotations

from ..emit.builder import ModuleBuilder
from ..netlist.locations import Locations
from .board import StreamEnd
from .parts import Made, flag, reserve_ports


def sender_module(width: int, made: Made) -> ModuleBuilder:
    """Words on their way out.

    Ports: ``data``, ``valid``, ``ready``; ``over``, high once no word follows; ``TDATA``, ``TLAST``,
    ``TVALID``, ``TREADY``; ``empty``.
    """
    text = ModuleBuilder(f"stream_sender_{width}", Locations())
    inputs = {"data": width, "valid": 1, "over": 1, "TREADY": 1}
    reserve_ports(text, inputs, ("ready", "TDATA", "TLAST", "TVALID", "empty"))
    held = text.named("held")
    take = text.named("take")
    fifo = made.fifo(
        text, "queue", width, 2, {"in_data": "%data", "in_valid": "%valid", "out_ready": take}
    )
    following = fifo["out_valid"]
    quiet = text.invert(text.any_of(following, "%valid"))
    last = text.all_of("%over", quiet)
    offered = text.all_of(held, text.any_of(following, last))
    leaves = text.all_of(offered, "%TREADY")
    text.alias(take, text.any_of(text.invert(held), leaves), 1)
    taken = text.all_of(following, text.any_of(text.invert(held), leaves))
    flag(text, held, taken, leaves)
    word = text.register(text.named("word"), fifo["out_data"], width, enable=taken)
    text.output("ready", "i1", fifo["in_ready"])
    text.output("TDATA", f"i{width}", word)
    text.output("TLAST", "i1", last)
    text.output("TVALID", "i1", offered)
    text.output("empty", "i1", text.all_of(text.invert(held), quiet))
    return text


def stream_ports(end: StreamEnd) -> tuple[dict[str, int], dict[str, int]]:
    """Inputs and outputs of a stream, by name and width."""
    data, valid, ready, last = (f"{end.name}_{s}" for s in ("TDATA", "TVALID", "TREADY", "TLAST"))
    if end.output:
        return {ready: 1}, {data: end.cell, valid: 1, last: 1}
    return {data: end.cell, valid: 1}, {ready: 1}
