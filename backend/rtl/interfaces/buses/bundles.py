"""Which masters reach an array: one, or several side by side, with an address each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from allo.dialects.diagnostics import InterfaceError, SourcePlace

from ..board import PAGE, Buffered, Master

MOST = 32
"""Masters of one array."""


def bundles_of(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """The names of bundles that the option gives an array; none if it gives none."""
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)


def check_bundles(name: str, given: Any, place: SourcePlace | None) -> None:
    """Whether the bundles of an array are names of ports, different ones, and a power of two of them.

    Raises:
        InterfaceError: they are not.
    """
    if given is None:
        return
    some = list(given) if isinstance(given, (list, tuple)) else [given]
    for each in some:
        if not (isinstance(each, str) and each.isascii() and each.isidentifier()):
            raise InterfaceError(
                f"The interface of {name} has bundle {each!r}, which cannot be part of a port's name.",
                place,
                help="letters, digits and underscores, as in 'gmem0'.",
            )
    twice = next((each for each in some if some.count(each) > 1), None)
    if twice is not None:
        raise InterfaceError(
            f"The interface of {name} has bundle {twice!r} twice.",
            place,
            help="each part of an array has a master of its own: name different bundles.",
        )
    if not some or len(some) > MOST or len(some) & (len(some) - 1):
        raise InterfaceError(
            f"The interface of {name} has {len(some)} bundles.",
            place,
            help=f"it takes 1, 2, 4, 8 and so on up to {MOST}: the words of the bus lie on them in turn.",
        )


def name_registers(
    bundles: Mapping[str, Sequence[str]], arguments: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """The names of the registers that hold the addresses of arrays: ``A``, and ``A_part1`` and so on."""
    taken = set(arguments)
    found = {}
    for name, some in bundles.items():
        mine = [name]
        for number in range(1, len(some)):
            each = f"{name}_part{number}"
            while each in taken:
                each += "_"
            taken.add(each)
            mine.append(each)
        found[name] = tuple(mine)
    return found


def side_by_side(
    masters: Sequence[Master],
    arrays: Sequence[Buffered],
    widths: Mapping[str, int | None],
    places: Mapping[str, SourcePlace | None],
) -> tuple[Master, ...]:
    """The masters, those of one array as wide and with bursts as long as each other: the widest of them.

    Args:
        widths: what is asked for, by array.

    Raises:
        InterfaceError: an array asks for another width.
    """
    found = {master.bundle: master for master in masters}
    wide = [array for array in arrays if len(array.parts) > 1]
    for _ in masters:
        for array in wide:
            mine = [found[bundle] for bundle in array.bundles]
            width = max(master.width for master in mine)
            burst = min(min(master.burst for master in mine), PAGE // (width // 8))
            for master in mine:
                found[master.bundle] = replace(master, width=width, burst=burst)
    for array in arrays:
        asked = widths.get(array.name)
        other = next((b for b in array.bundles if asked not in (None, found[b].width)), None)
        if other is not None:
            raise InterfaceError(
                f"{array.name} asks for width {asked} in bundle {other}, which stands beside others of "
                f"{found[other].width} bits for an array that has several.",
                places.get(array.name),
                help="give all arrays of these bundles one width, or leave it out.",
            )
    return tuple(found.values())
