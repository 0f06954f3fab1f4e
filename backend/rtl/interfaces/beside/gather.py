"""The engine of an array whose elements a core asks for one by one: single reads, told apart by their ids.

A request takes the next place of a ring, and its number is the id of the read. The memory may answer in any
order: an answer is kept in the place that its id names, and elements leave in the order of the requests.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...emit.builder import ModuleBuilder
from ...emit.fifo import pointer, stored_word
from ...graph.linear import bits_unsigned
from ...netlist.locations import Locations
from ..board import Master
from ..masters import ADDRESS
from ..parts import Made, flag, reserve_ports, up_down


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a core asks for.

    Attributes:
        bits: of the number of an element.
        cell: bits that an element takes in memory, ``width`` those that count.
    """

    bits: int
    cell: int
    width: int


def gather_module(master: Master, wanted: Wanted, made: Made) -> ModuleBuilder:
    """The engine.

    Ports: ``base``, the address of element 0; ``number``, ``asked`` and ``room`` of requests; ``data``,
    ``valid`` and ``ready`` of elements; AR and R of the master; ``bad`` as of the other engines.
    """
    name = (
        f"axi_gather_{master.width}x{master.outstanding}_{wanted.cell}_{wanted.width}_{wanted.bits}"
    )
    text = ModuleBuilder(name, Locations())
    ring = 1 << master.ids
    inputs = {"base": ADDRESS, "number": wanted.bits, "asked": 1, "ready": 1, "ARREADY": 1}
    inputs |= {"RID": master.ids, "RDATA": master.width, "RRESP": 2, "RVALID": 1}
    outputs = ("room", "data", "valid", "bad", "ARID", "ARADDR", "ARLEN", "ARVALID", "RREADY")
    reserve_ports(text, inputs, outputs)

    # Requests: an address each, as long as the ring has places.
    asking, many = text.named("asking"), bits_unsigned(master.outstanding)
    under_way = text.named("under_way")
    free = text.any_of(text.invert(asking), "%ARREADY")
    some = text.compare("ne", under_way, text.const(master.outstanding, many), many)
    room = text.all_of(free, some)
    issue = text.all_of("%asked", room)
    place = pointer(text, "place", ring, master.ids, issue)
    size, cell = (master.width // 8).bit_length() - 1, (wanted.cell // 8).bit_length() - 1
    low = text.extend("%number", wanted.bits, ADDRESS, signed=False)
    shifted = text.concat(
        [(text.slice(low, 0, ADDRESS - cell, ADDRESS), ADDRESS - cell)]
        + ([(text.const(0, cell), cell)] if cell else [])
    )
    whole = text.slice(shifted, size, ADDRESS - size, ADDRESS)
    aligned = text.concat([(whole, ADDRESS - size), (text.const(0, size), size)])
    at = text.binary("add", "%base", aligned, ADDRESS)
    text.output("room", "i1", room)
    flag(text, asking, issue, text.all_of(asking, "%ARREADY"))
    text.output("ARVALID", "i1", asking)
    for port, value, bits in (("ARADDR", at, ADDRESS), ("ARID", place, master.ids)):
        held = text.register(text.named(f"asked_{port[2:].lower()}"), value, bits, enable=issue)
        text.output(port, f"i{bits}", held)
    text.output("ARLEN", "i8", text.const(0, 8))

    # Answers: each into its place.
    taken = "%RVALID"
    text.output("RREADY", "i1", text.const(1, 1))
    wrong = text.compare("ne", "%RRESP", text.const(0, 2), 2)
    text.output("bad", "i1", text.all_of(taken, wrong))
    leaves = text.named("leaves")
    oldest = pointer(text, "oldest", ring, master.ids, leaves)
    word = stored_word(
        text, "answers", (ring, master.width, master.ids), oldest, ("%RID", "%RDATA", taken)
    )
    lanes = size - cell
    if lanes > 0:
        lane = text.slice("%number", 0, min(lanes, wanted.bits), wanted.bits)
        lane = text.extend(lane, min(lanes, wanted.bits), lanes, signed=False)
        chosen = stored_word(text, "lanes", (ring, lanes, master.ids), oldest, (place, lane, issue))
        for bit in range(lanes):
            far = wanted.cell << bit
            moved = text.slice(word, far, master.width - far, master.width)
            moved = text.extend(moved, master.width - far, master.width, signed=False)
            word = text.mux(text.slice(chosen, bit, 1, lanes), moved, word, master.width)
    there = text.named("there")
    one = text.const(1, ring)
    set_bit = _at(text, one, "%RID", master.ids, ring)
    gone_bit = _at(text, one, oldest, master.ids, ring)
    kept = text.binary("or", there, text.mux(taken, set_bit, text.const(0, ring), ring), ring)
    gone = text.mux(leaves, gone_bit, text.const(0, ring), ring)
    kept = text.binary(
        "and", kept, text.binary("xor", gone, text.const((1 << ring) - 1, ring), ring), ring
    )
    text.register(there, kept, ring, reset=0)
    oldest_wide = text.extend(oldest, master.ids, ring, signed=False)
    first = text.slice(text.binary("shru", there, oldest_wide, ring), 0, 1, ring)
    element = text.slice(word, 0, wanted.width, master.width)
    fifo = made.fifo(
        text,
        "elements",
        wanted.width,
        2,
        {"in_data": element, "in_valid": first, "out_ready": "%ready"},
    )
    text.alias(leaves, text.all_of(first, fifo["in_ready"]), 1)
    up_down(text, under_way, many, issue, leaves)
    text.output("data", f"i{wanted.width}", fifo["out_data"])
    text.output("valid", "i1", fifo["out_valid"])
    return text


def _at(text: ModuleBuilder, one: str, place: str, bits: int, ring: int) -> str:
    """A word with one bit set."""
    return text.binary("shl", one, text.extend(place, bits, ring, signed=False), ring)
