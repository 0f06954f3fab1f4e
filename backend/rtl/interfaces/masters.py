"""The engines of an AXI4 master port: bursts that read, and bursts that write.

Each moves ``beats`` words from an address on, in bursts of up to ``burst`` beats. A burst ends where
an address is a multiple of the longest burst's bytes, which divide 4,096: so none crosses a page.
Every ready and valid comes from a register, and no valid waits for a ready.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..emit.builder import ModuleBuilder
from ..graph.linear import bits_unsigned
from ..netlist.locations import Locations
from .board import Master
from .parts import Made, flag, reserve_ports, up_down

ADDRESS = 64
LENGTHS = 4
"""Bursts whose length is known ahead of their words."""


@dataclass(frozen=True, slots=True)
class Channel:
    """An address channel under way: SSA names.

    Attributes:
        issue: whether a burst is asked for in this cycle, of ``length`` beats less one.
        free: whether none is left to ask for.
        idle: whether none is under way besides.
    """

    issue: str
    length: str
    free: str
    idle: str


def master_ports(master: Master) -> tuple[dict[str, int], dict[str, int]]:
    """Inputs and outputs of an AXI4 master without their prefix, by name and width."""
    inputs: dict[str, int] = {}
    outputs: dict[str, int] = {}
    for channel, wanted in (("AW", master.writes), ("AR", master.reads)):
        if wanted:
            inputs[f"{channel}READY"] = 1
            outputs |= {f"{channel}ADDR": ADDRESS, f"{channel}LEN": 8, f"{channel}SIZE": 3}
            outputs |= {f"{channel}BURST": 2, f"{channel}CACHE": 4, f"{channel}PROT": 3}
            outputs[f"{channel}VALID"] = 1
    if master.writes:
        inputs |= {"WREADY": 1, "BRESP": 2, "BVALID": 1}
        outputs |= {"WDATA": master.width, "WSTRB": master.width // 8, "WLAST": 1, "WVALID": 1}
        outputs["BREADY"] = 1
    if master.reads:
        inputs |= {"RDATA": master.width, "RRESP": 2, "RLAST": 1, "RVALID": 1}
        outputs["RREADY"] = 1
    if master.ids:
        inputs["RID"] = outputs["ARID"] = master.ids
    return inputs, outputs


def address_ports(channel: str, beats: int) -> tuple[dict[str, int], dict[str, int]]:
    """Inputs and outputs of an engine's address side, by name and width."""
    inputs = {"go": 1, "base": ADDRESS, "beats": beats, f"{channel}READY": 1}
    outputs = {f"{channel}ADDR": ADDRESS, f"{channel}LEN": 8, f"{channel}VALID": 1}
    return inputs, outputs


def _addresses(
    text: ModuleBuilder, master: Master, beats: int, channel: str, over: str, room: str
) -> Channel:
    """The address channel of an engine.

    Args:
        beats: bits of the input ``beats``.
        channel: ``"AR"`` or ``"AW"``.
        over: whether a burst has come to its end in this cycle.
        room: whether another may be asked for, besides the limit on bursts under way.
    """
    size = (master.width // 8 - 1).bit_length()
    steps = (master.burst - 1).bit_length()
    bits = steps + 1
    address, left, valid = (text.named(n) for n in ("address", "left", f"{channel}_valid"))
    under_way, many = text.named("under_way"), bits_unsigned(master.outstanding)
    some = text.compare("ne", left, text.const(0, beats), beats)
    free = text.any_of(text.invert(valid), f"%{channel}READY")
    allowed = text.compare("ne", under_way, text.const(master.outstanding, many), many)
    issue = text.all_of(some, free, allowed, room)

    most = text.const(master.burst, bits)
    if steps:
        place = text.extend(text.slice(address, size, steps, ADDRESS), steps, bits, signed=False)
        most = text.binary("sub", most, place, bits)
    common = max(bits, beats)
    wide_most = text.extend(most, bits, common, signed=False)
    wide_left = text.extend(left, beats, common, signed=False)
    short = text.compare("ult", wide_left, wide_most, common)
    length = text.slice(text.mux(short, wide_left, wide_most, common), 0, bits, common)
    less = text.binary("sub", length, text.const(1, bits), bits)
    last = text.extend(less, bits, 8, signed=False)

    low = text.concat([(length, bits), (text.const(0, size), size)])
    far = text.extend(low, bits + size, ADDRESS, signed=False)
    moved = text.binary("add", address, far, ADDRESS)
    fewer = text.binary("sub", left, text.extend(length, bits, beats, signed=False), beats)
    step = text.any_of("%go", issue)
    text.register(address, text.mux("%go", "%base", moved, ADDRESS), ADDRESS, enable=step)
    text.register(left, text.mux("%go", "%beats", fewer, beats), beats, enable=step, reset=0)
    flag(text, valid, issue, text.all_of(valid, f"%{channel}READY"))
    held = text.register(text.named(f"{channel}_address"), address, ADDRESS, enable=issue)
    held_length = text.register(text.named(f"{channel}_length"), last, 8, enable=issue)
    up_down(text, under_way, many, issue, over)
    text.output(f"{channel}ADDR", f"i{ADDRESS}", held)
    text.output(f"{channel}LEN", "i8", held_length)
    text.output(f"{channel}VALID", "i1", valid)
    none = text.compare("eq", under_way, text.const(0, many), many)
    unasked = text.invert(some)
    return Channel(issue, last, unasked, text.all_of(unasked, none))


def _room(text: ModuleBuilder, burst: int, lines: int, channel: Channel, gone: str) -> str:
    """Whether a burst of any length fits beside the words that are kept or asked for."""
    bits = bits_unsigned(lines)
    asked = text.named("asked")
    more = text.extend(channel.length, 8, bits + 8, signed=False)
    more = text.slice(more, 0, bits, bits + 8)
    more = text.binary("add", more, text.const(1, bits), bits)
    more = text.mux(channel.issue, more, text.const(0, bits), bits)
    less = text.extend(gone, 1, bits, signed=False)
    following = text.binary("sub", text.binary("add", asked, more, bits), less, bits)
    text.register(asked, following, bits, reset=0)
    return text.compare("ult", asked, text.const(lines - burst + 1, bits), bits)


def _bad(text: ModuleBuilder, taken: str, response: str) -> None:
    """An output that is high in the cycle of a response other than OKAY."""
    wrong = text.compare("ne", response, text.const(0, 2), 2)
    text.output("bad", "i1", text.all_of(taken, wrong))


def reader_module(
    master: Master, beats: int, made: Made, lines: int = 2, *, measured: bool = False
) -> ModuleBuilder:
    """The engine that reads: out ``data``, ``valid``, for ``ready``; ``beats`` is a width.

    ``free`` is high when it may be told to go; ``lines`` are those that it keeps. One that is
    ``measured`` asks for no more than it can keep, at least two bursts: it never lets the bus wait.
    """
    sizes = (master.burst, master.outstanding, beats, *([lines] if lines != 2 else []))
    kind = "measured_reader" if measured else "reader"
    name = f"axi_{kind}_{master.width}x{'_'.join(map(str, sizes))}"
    text = ModuleBuilder(name, Locations())
    inputs, outputs = address_ports("AR", beats)
    inputs |= {"RDATA": master.width, "RRESP": 2, "RLAST": 1, "RVALID": 1, "ready": 1}
    reserve_ports(text, inputs, (*outputs, "RREADY", "data", "valid", "bad", "free"))
    fifo = made.fifo(
        text,
        "arriving",
        master.width,
        lines,
        {"in_data": "%RDATA", "in_valid": "%RVALID", "out_ready": "%ready"},
    )
    taken = text.all_of("%RVALID", fifo["in_ready"])
    over = text.all_of(taken, "%RLAST")
    room = text.named("room") if measured else text.const(1, 1)
    channel = _addresses(text, master, beats, "AR", over, room)
    if measured:
        gone = text.all_of("%ready", fifo["out_valid"])
        text.alias(room, _room(text, master.burst, lines, channel, gone), 1)
    text.output("free", "i1", channel.free)
    text.output("RREADY", "i1", fifo["in_ready"])
    text.output("data", f"i{master.width}", fifo["out_data"])
    text.output("valid", "i1", fifo["out_valid"])
    _bad(text, taken, "%RRESP")
    return text


def writer_module(master: Master, beats: int, made: Made) -> ModuleBuilder:
    """The engine that writes: in ``data``, ``strobe``, ``valid``, out ``ready``; ``beats`` is a width.

    ``idle`` is high when every burst has been answered. The words of a burst may come before its
    address is taken, and do not wait for that.
    """
    width, strobes = master.width, master.width // 8
    text = ModuleBuilder(
        f"axi_writer_{width}x{master.burst}_{master.outstanding}_{beats}", Locations()
    )
    inputs, outputs = address_ports("AW", beats)
    inputs |= {"WREADY": 1, "BRESP": 2, "BVALID": 1, "data": width, "strobe": strobes, "valid": 1}
    names = ("WDATA", "WSTRB", "WLAST", "WVALID", "BREADY", "ready", "idle", "free", "bad")
    reserve_ports(text, inputs, (*outputs, *names))
    lengths_ready = text.named("lengths_ready")
    channel = _addresses(text, master, beats, "AW", "%BVALID", lengths_ready)

    # The words: `open` while a burst has some to come, `more` of them behind the next one.
    is_open, more = text.named("burst_open"), text.named("more")
    word_valid = text.named("word_valid")
    free = text.any_of(text.invert(word_valid), "%WREADY")
    taken = text.all_of("%valid", is_open, free)
    last = text.compare("eq", more, text.const(0, 8), 8)
    ends = text.all_of(taken, last)
    next_burst = text.any_of(text.invert(is_open), ends)
    lengths = made.fifo(
        text,
        "lengths",
        8,
        LENGTHS,
        {"in_data": channel.length, "in_valid": channel.issue, "out_ready": next_burst},
    )
    text.alias(lengths_ready, lengths["in_ready"], 1)
    begins = text.all_of(next_burst, lengths["out_valid"])
    flag(text, is_open, begins, ends)
    fewer = text.binary("sub", more, text.const(1, 8), 8)
    text.register(
        more,
        text.mux(begins, lengths["out_data"], fewer, 8),
        8,
        enable=text.any_of(begins, taken),
        reset=0,
    )
    flag(text, word_valid, taken, text.all_of(word_valid, "%WREADY"))
    for name, value, bits in (
        ("WDATA", "%data", width),
        ("WSTRB", "%strobe", strobes),
        ("WLAST", last, 1),
    ):
        held = text.register(text.named(f"word_{name[1:].lower()}"), value, bits, enable=taken)
        text.output(name, f"i{bits}", held)
    text.output("WVALID", "i1", word_valid)
    text.output("BREADY", "i1", text.const(1, 1))
    text.output("ready", "i1", text.all_of(is_open, free))
    text.output("idle", "i1", channel.idle)
    text.output("free", "i1", channel.free)
    _bad(text, "%BVALID", "%BRESP")
    return text
