"""Words put together and taken apart: between the elements of an array and the words of a bus."""

from __future__ import annotations

from ..emit.builder import ModuleBuilder
from ..graph.linear import bits_unsigned
from ..netlist.locations import Locations
from .parts import concat, flag, reserve_ports

_INPUTS = {"in_valid": 1, "out_ready": 1}


def widener_module(narrow: int, wide: int) -> ModuleBuilder:
    """Puts words of ``narrow`` bits together, the first lowest; ``in_last`` ends a word early.

    Ports: ``in_data``, ``in_last``, ``in_valid``, ``in_ready``, ``out_data``, ``out_last``,
    ``out_valid``, ``out_ready``.
    """
    text = ModuleBuilder(f"widen_{narrow}_{wide}", Locations())
    many = wide // narrow
    bits = bits_unsigned(many - 1)
    inputs = {"in_data": narrow, "in_last": 1, **_INPUTS}
    reserve_ports(text, inputs, ("in_ready", "out_data", "out_last", "out_valid"))
    full, place = text.named("full"), text.named("place")
    free = text.any_of(text.invert(full), "%out_ready")
    taken = text.all_of("%in_valid", free)
    at_end = text.compare("eq", place, text.const(many - 1, bits), bits)
    whole = text.all_of(taken, text.any_of(at_end, "%in_last"))
    flag(text, full, whole, text.all_of(full, "%out_ready"))
    following = text.binary("add", place, text.const(1, bits), bits)
    following = text.mux(whole, text.const(0, bits), following, bits)
    text.register(place, following, bits, enable=taken, reset=0)
    parts = []
    for number in range(many):
        here = text.compare("eq", place, text.const(number, bits), bits)
        held = text.named(f"part{number}")
        text.register(held, "%in_data", narrow, enable=text.all_of(taken, here))
        parts.append((held, narrow))
    last = text.register(text.named("last"), "%in_last", 1, enable=taken)
    text.output("in_ready", "i1", free)
    text.output("out_data", f"i{wide}", concat(text, parts))
    text.output("out_last", "i1", last)
    text.output("out_valid", "i1", full)
    return text


def narrower_module(wide: int, narrow: int) -> ModuleBuilder:
    """Takes words of ``wide`` bits apart, lowest first; ``flush`` drops what is left of one.

    Ports: ``in_data``, ``in_last``, ``in_valid``, ``in_ready``, ``flush``, ``out_data``, ``out_last``,
    ``out_valid``, ``out_ready``.
    """
    text = ModuleBuilder(f"narrow_{wide}_{narrow}", Locations())
    many = wide // narrow
    bits = bits_unsigned(many - 1)
    inputs = {"in_data": wide, "in_last": 1, "flush": 1, **_INPUTS}
    reserve_ports(text, inputs, ("in_ready", "out_data", "out_last", "out_valid"))
    full, place, word = (text.named(n) for n in ("full", "place", "word"))
    at_end = text.compare("eq", place, text.const(many - 1, bits), bits)
    passed = text.all_of(full, "%out_ready")
    free = text.any_of(text.invert(full), text.all_of(at_end, "%out_ready"))
    taken = text.all_of("%in_valid", free, text.invert("%flush"))
    flag(text, full, taken, text.any_of("%flush", text.all_of(passed, at_end)))
    following = text.binary("add", place, text.const(1, bits), bits)
    back = text.any_of(taken, "%flush")
    following = text.mux(back, text.const(0, bits), following, bits)
    text.register(place, following, bits, enable=text.any_of(back, passed), reset=0)
    rest = text.extend(
        text.slice(word, narrow, wide - narrow, wide), wide - narrow, wide, signed=False
    )
    following = text.mux(taken, "%in_data", rest, wide)
    text.register(word, following, wide, enable=text.any_of(taken, passed))
    last = text.register(text.named("last"), "%in_last", 1, enable=taken)
    text.output("in_ready", "i1", text.all_of(free, text.invert("%flush")))
    text.output("out_data", f"i{narrow}", text.slice(word, 0, narrow, wide))
    text.output("out_last", "i1", text.all_of(last, at_end))
    text.output("out_valid", "i1", full)
    return text
