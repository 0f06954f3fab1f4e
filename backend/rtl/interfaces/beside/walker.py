"""The starts of the runs of an array, one after the other: counters of the loops around them."""

from __future__ import annotations

from ...emit.builder import ModuleBuilder
from ...graph.linear import bits_unsigned
from ...netlist.locations import Locations
from ..parts import flag, reserve_ports
from .units import Units


def walker_module(name: str, units: Units) -> ModuleBuilder:
    """A module that offers each start in turn.

    Ports: the pulse ``go``; ``start``, ``valid``; ``take``, by which it goes on.
    """
    text = ModuleBuilder(name, Locations())
    reserve_ports(text, {"go": 1, "take": 1}, ("start", "valid"))
    bits = units.start_bits
    valid = text.named("running")
    total = text.const(units.base, bits)
    carry = text.all_of(valid, "%take")
    ends: list[str] = []
    for number, (extent, stride) in reversed(list(enumerate(units.dims))):
        turn, offset = text.named(f"turn{number}"), text.named(f"offset{number}")
        width = bits_unsigned(extent - 1)
        last = text.compare("eq", turn, text.const(extent - 1, width), width)
        back = text.any_of("%go", last)
        for register, step, size in ((turn, 1, width), (offset, stride, bits)):
            more = text.binary("add", register, text.const(step, size), size)
            following = text.mux(back, text.const(0, size), more, size)
            text.register(register, following, size, enable=text.any_of("%go", carry), reset=0)
        total = text.binary("add", total, offset, bits)
        ends.append(last)
        carry = text.all_of(carry, last)
    flag(text, valid, "%go", text.all_of(valid, "%take", *ends))
    text.output("start", f"i{bits}", total)
    text.output("valid", "i1", valid)
    return text
