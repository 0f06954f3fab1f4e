"""Checks in hardware, of subscripts and of asserted dependences: the first that fails, kept in registers.

A module with checks, or with instances that have some, has the output ``bounds_fault``: bit 0 is high from
the cycle after a check failed, and stays; then 32 bits for the number of the check and 64 for each
number it tells (:mod:`allo.dialects.core.bounds`). Only builds that ask for checks have it.
"""

from __future__ import annotations

from dataclasses import dataclass

from allo.dialects.core.bounds import Site, as_signed_words
from allo.dialects.diagnostics import SimulationError

from ..netlist.operations import Constant, Extract, Gate
from .builder import ModuleBuilder, Wiring

PORT = "bounds_fault"
_SITE_BITS = 32
_WORD_BITS = 64


@dataclass(frozen=True, slots=True)
class BoundsPort:
    """What the top module tells of its checks.

    Attributes:
        sites: the checks by number.
        words: how many numbers the port has room for.
        drain: cycles from a failure until what was under way before it has been written.
    """

    sites: tuple[Site, ...]
    words: int
    drain: int
    name: str = PORT

    @property
    def width(self) -> int:
        """The width of the port in bits."""
        return port_width(self.words)

    def error(self, value: int) -> SimulationError:
        """The exception for a value of the port whose lowest bit is set."""
        site = self.sites[(value >> 1) & ((1 << _SITE_BITS) - 1)]
        told = value >> (1 + _SITE_BITS)
        mask = (1 << _WORD_BITS) - 1
        words = [(told >> (_WORD_BITS * k)) & mask for k in range(site.words)]
        return site.error(as_signed_words(words))


def port_width(words: int) -> int:
    """Bits of the port."""
    return 1 + _SITE_BITS + _WORD_BITS * words


class BoundsWatch:
    """Collects the checks of one module and emits the registers behind its port."""

    def __init__(self, text: ModuleBuilder, words: int, *, active: bool = True) -> None:
        self.active = active
        self._text = text
        self._words = words
        self._failed = ""
        self._seen = ""
        self._found: list[tuple[str, str]] = []
        self._below: list[str] = []

    @property
    def seen(self) -> str:
        """High in the cycles after a check has failed, here or in an instance."""
        if not self._seen:
            self._failed = self._text.named("bounds_failed")
            self._seen = self._text.fresh()
        return self._seen

    def check(self, failing: str, site: int, words: list[str]) -> None:
        """A check that fails in a cycle in which ``failing`` is high, and what it tells."""
        text = self._text
        room = self._words - len(words)
        parts = [(word, _WORD_BITS) for word in reversed(words)]
        parts.append((text.const(site, _SITE_BITS), _SITE_BITS))
        if room:
            parts.insert(0, (text.const(0, room * _WORD_BITS), room * _WORD_BITS))
        self._found.append((failing, text.concat(parts)))

    def instance(self, wiring: Wiring) -> None:
        """Listen to an instance that has the port."""
        width = port_width(self._words)
        value = wiring.outputs[PORT] = self._text.fresh()
        failing = self._text.fresh()
        told = self._text.fresh()
        self._found.append((failing, told))
        self._below.append(failing)
        self._text.add(Extract(failing, value, 0, 1, width))
        self._text.add(Extract(told, value, 1, width - 1, width))

    def finish(self) -> bool:
        """Emit the registers and the port; whether there is any."""
        text, width, seen = self._text, port_width(self._words), self._seen
        if not self._found:
            if seen:
                text.add(Constant(seen, 0, 1))
            return False
        seen = self.seen
        now = text.any_of(*(failing for failing, _ in self._found))
        first = self._found[-1][1]
        for failing, told in reversed(self._found[:-1]):
            first = text.mux(failing, told, first, width - 1)
        failed = self._failed
        enable = text.all_of(now, text.invert(failed))
        kept = text.named("bounds_told")
        text.register(failed, text.any_of(failed, now), 1, reset=0, free=True)
        text.add(Gate("comb.or", seen, (failed, *self._below), 1))
        text.register(kept, first, width - 1, enable=enable, free=True)
        text.output(PORT, f"i{width}", text.concat([(kept, width - 1), (failed, 1)]))
        return True
