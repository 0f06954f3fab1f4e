"""The engine of an array whose elements a core stores one by one: single writes, in order.

A request takes the next place of a ring, and waits there for its element; the elements come in the order of
the requests. All writes have one id, so they are done in that order. A place is free again when its write is
answered. Until then, a read of the same element waits: the engine compares its number with those in the ring,
in the cycle before it is the next request.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...emit.builder import ModuleBuilder
from ...emit.fifo import pointer, stored_word
from ...graph.linear import bits_unsigned
from ...netlist.locations import Locations
from ..board import Master
from ..masters import ADDRESS
from ..parts import Made, concat, flag, reserve_ports, up_down
from .gather import Wanted


@dataclass(frozen=True, slots=True)
class Stored:
    """What a core stores.

    Attributes:
        wanted: its elements.
        signed: whether the sign of an element fills its cell.
        compared: whether the core loads elements of the array, too.
    """

    wanted: Wanted
    signed: bool
    compared: bool


def scatter_module(master: Master, stored: Stored, made: Made) -> ModuleBuilder:
    """The engine.

    Ports: ``base``, the address of element 0; ``number``, ``asked`` and ``room`` of requests; ``data``,
    ``valid`` and ``ready`` of elements; AW, W and B of the master; ``idle``, whether all writes are answered;
    ``bad`` as of the other engines. Where reads are compared: ``following``, the number of the request that
    is next in the cycle behind ``moves``; and ``waits``, whether a write of ``number`` is not answered yet.
    """
    wanted, many = stored.wanted, bits_unsigned(master.outstanding)
    bits, width = wanted.bits, wanted.width
    places = max(1, bits_unsigned(master.outstanding - 1))
    sizes = (master.outstanding, wanted.cell, width, bits, int(stored.signed))
    kind = "update" if stored.compared else "scatter"
    name = f"axi_{kind}_{master.width}x{'_'.join(map(str, sizes))}"
    text, ring = ModuleBuilder(name, Locations()), 1 << places
    inputs = {"base": ADDRESS, "number": bits, "asked": 1, "data": width, "valid": 1}
    inputs |= {"AWREADY": 1, "WREADY": 1, "BRESP": 2, "BVALID": 1}
    inputs |= {"following": bits, "moves": 1} if stored.compared else {}
    outputs = ("room", "ready", "waits", "idle", "bad", "AWADDR", "AWLEN", "AWVALID")
    reserve_ports(text, inputs, (*outputs, "WDATA", "WSTRB", "WLAST", "WVALID", "BREADY"))

    # Requests: a place of the ring each.
    kept, waiting = text.named("kept"), text.named("waiting")
    room = text.compare("ne", kept, text.const(master.outstanding, many), many)
    accepted = text.all_of("%asked", room)
    place = pointer(text, "place", ring, places, accepted)
    answered = "%BVALID"
    text.output("room", "i1", room)

    # Elements: one that has come goes with the oldest request that waits.
    address_valid, word_valid = text.named("address_valid"), text.named("word_valid")
    issue = text.named("issue")
    queue = made.fifo(
        text, "elements", width, 2, {"in_data": "%data", "in_valid": "%valid", "out_ready": issue}
    )
    some = text.compare("ne", waiting, text.const(0, many), many)
    free = (
        text.any_of(text.invert(address_valid), "%AWREADY"),
        text.any_of(text.invert(word_valid), "%WREADY"),
    )
    text.alias(issue, text.all_of(some, queue["out_valid"], *free), 1)
    oldest = pointer(text, "oldest", ring, places, issue)
    number = stored_word(
        text, "numbers", (ring, bits, places), oldest, (place, "%number", accepted)
    )
    up_down(text, kept, many, accepted, answered)
    up_down(text, waiting, many, accepted, issue)
    text.output("ready", "i1", queue["in_ready"])
    none = text.compare("eq", kept, text.const(0, many), many)
    text.output("idle", "i1", text.all_of(none, text.invert("%asked")))

    # A write of one word.
    flag(text, address_valid, issue, text.all_of(address_valid, "%AWREADY"))
    flag(text, word_valid, issue, text.all_of(word_valid, "%WREADY"))
    size, cell = (master.width // 8).bit_length() - 1, (wanted.cell // 8).bit_length() - 1
    lanes = size - cell
    word = number
    if lanes:
        word = text.slice(number, lanes, bits - lanes, bits) if bits > lanes else text.const(0, 1)
    word_bits = max(1, bits - lanes)
    parts = [(text.const(0, size), size), (word, word_bits)]
    far = text.extend(concat(text, parts), size + word_bits, ADDRESS, signed=False)
    at = text.binary("add", "%base", far, ADDRESS)
    element = text.extend(queue["out_data"], width, wanted.cell, signed=stored.signed)
    data = concat(text, [(element, wanted.cell)] * (1 << lanes))
    strobes, mine = master.width // 8, wanted.cell // 8
    strobe = text.const((1 << strobes) - 1, strobes)
    if lanes:
        lane = text.slice(number, 0, min(lanes, bits), bits)
        each = []
        for n in range(1 << lanes):
            chosen = text.const(0, 1)
            if n < 1 << min(lanes, bits):
                low = min(lanes, bits)
                chosen = text.compare("eq", lane, text.const(n, low), low)
            each += [(chosen, 1)] * mine
        strobe = concat(text, each)
    for port, value, count in (
        ("AWADDR", at, ADDRESS),
        ("WDATA", data, master.width),
        ("WSTRB", strobe, strobes),
    ):
        held = text.register(text.named(f"{port.lower()}_held"), value, count, enable=issue)
        text.output(port, f"i{count}", held)
    text.output("AWLEN", "i8", text.const(0, 8))
    text.output("WLAST", "i1", text.const(1, 1))
    text.output("AWVALID", "i1", address_valid)
    text.output("WVALID", "i1", word_valid)
    text.output("BREADY", "i1", text.const(1, 1))
    wrong = text.compare("ne", "%BRESP", text.const(0, 2), 2)
    text.output("bad", "i1", text.all_of(answered, wrong))
    waits = text.const(0, 1)
    if stored.compared:
        places_of = (ring, places, place, pointer(text, "answered", ring, places, answered))
        waits = _compare(text, bits, places_of, accepted, answered)
    text.output("waits", "i1", waits)
    return text


def _compare(
    text: ModuleBuilder, bits: int, ring: tuple[int, int, str, str], begins: str, ends: str
) -> str:
    """Whether ``number``, which was ``following``, is in a place of the ring that is not free.

    Args:
        ring: how many places, the bits of one, the next that is taken, and the next that becomes free.
        begins, ends: when these happen.
    """
    count, width, first, last = ring
    hits, again = [], text.compare("eq", "%number", "%following", bits)
    for n in range(count):
        here = text.const(n, width)
        taken = text.all_of(begins, text.compare("eq", first, here, width))
        freed = text.all_of(ends, text.compare("eq", last, here, width))
        held, busy = text.named(f"number{n}"), text.named(f"busy{n}")
        text.register(held, "%number", bits, enable=taken)
        flag(text, busy, taken, freed)
        equal = text.mux(taken, again, text.compare("eq", held, "%following", bits), 1)
        alike = text.register(text.named(f"alike{n}"), equal, 1, enable="%moves")
        hits.append(text.all_of(busy, alike))
    return text.any_of(*hits)
