"""When a region runs and when a body has an iteration under way: what the simulator may skip.

The control of a region does not move while the region does not run. A value that a body computes
matters only while one of its iterations is under way, so the registers that carry it through the
pipeline may keep whatever they hold when none is. Hardware moves them all the same, since a gate
costs more than it saves; the text for the in-process simulator, and only that, has the gates, and
there a branch spares the work of every idle loop and body (:mod:`allo.backend.sim.engines.arc.nest`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from allo.dialects.diagnostics import SourcePlace

from ..graph.linear import bits_unsigned
from ..graph.nodes import Body
from ..netlist.operations import Compare, Constant, Gate, Mux, Register
from .builder import ModuleBuilder


@dataclass(slots=True)
class Tokens:
    """When a body runs: ``issue`` is high in the first cycle of each iteration.

    ``scope`` are the bits of :class:`Activity` for the regions around it. ``stop`` is high when an iteration
    finds in step ``decided`` that it is the last one: those behind it then end.
    """

    body: Body
    issue: str
    valid: list[str] = field(default_factory=list)
    what: str = ""
    scope: tuple[str, ...] = ()
    stop: str = ""
    decided: int = -1
    place: SourcePlace | None = None


class Activity:
    """Names and emits the gates of one function's bodies."""

    def __init__(self, text: ModuleBuilder, tokens: Mapping[int, Tokens]) -> None:
        self._text = text
        self._tokens = tokens
        self._names: dict[int, str] = {}
        self._last: dict[int, int] = {}

    def of(self, body: Body, step: int) -> str:
        """A bit that is high whenever ``step`` of some iteration of the body runs."""
        number = body.number
        self._last[number] = max(step, self._last.get(number, 0))
        if number not in self._names:
            self._names[number] = self._text.fresh()
        return self._names[number]

    def region(self, go: str, scope: tuple[str, ...]) -> tuple[str, Callable[[str], None]]:
        """A bit that is high from ``go`` to a region's last cycle, and who is to be told that one.

        ``scope`` are the bits of the regions around it.
        """
        text = self._text
        busy, running = text.fresh(), text.fresh()
        text.native_only(Gate("comb.or", busy, (go, running), 1))

        def ends(last: str) -> None:
            zero, one, more, following = (text.fresh() for _ in range(4))
            text.native_only(Constant(zero, 0, 1))
            text.native_only(Constant(one, 1, 1))
            text.native_only(Gate("comb.xor", more, (last, one), 1))
            text.native_only(Gate("comb.and", following, (busy, more), 1))
            gate = text.native_all_of(busy, text.enable, *scope)
            text.native_only(Register(running, following, 1, gate, zero))

        return busy, ends

    def finish(self) -> None:
        """Emit the gates: high with an issue and for as many cycles as the last step asked for."""
        text = self._text
        for number, busy in self._names.items():
            issue, last = self._tokens[number].issue, self._last[number]
            if not last:
                text.native_only(Gate("comb.or", busy, (issue,), 1))
                continue
            bits = bits_unsigned(last)
            left, more, full, less, following, zero, one, steps = (text.fresh() for _ in range(8))
            text.native_only(Constant(zero, 0, bits))
            text.native_only(Constant(one, 1, bits))
            text.native_only(Constant(steps, last, bits))
            text.native_only(Compare("ne", more, (left, zero), bits))
            text.native_only(Gate("comb.or", busy, (issue, more), 1))
            text.native_only(Gate("comb.sub", less, (left, one), bits))
            text.native_only(Mux(following, (issue, steps, less), bits))
            gate = text.native_all_of(busy, text.enable)
            text.native_only(Register(left, following, bits, gate, zero))
