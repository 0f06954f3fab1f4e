"""Clocks that a board's generator makes from its oscillator, and the module ``allo_clock``."""

from __future__ import annotations

import bisect
import functools
from dataclasses import dataclass
from math import ceil, floor, log2

from allo.backend.devices import Pll, family
from allo.dialects.diagnostics import BoardError

from ..record import Board
from ..shell.outside import CLOCK_OUT

MODULE = "allo_clock"
_CLOSE = 1e-4
"""A clock that is as near as this part of it is the one asked for: oscillators are no better."""
_HEAD = f"""\
module {MODULE} (input oscillator, output clock, output locked);
"""
_WIRES = "  assign clock = oscillator;\n  assign locked = 1'b1;\n"


@dataclass(frozen=True, slots=True, order=True)
class Setting:
    """The dividers of a clock generator, and the clock they make. All 1: the oscillator itself."""

    mhz: float
    reference: int = 1
    feedback: int = 1
    output: int = 1
    generated: bool = True


@functools.lru_cache(maxsize=32)
def _settings(pll: Pll, oscillator_mhz: float) -> tuple[Setting, ...]:
    """A setting for each clock that can be made, the slowest clock first."""
    found: dict[float, Setting] = {}
    low, high = pll.vco_mhz
    for reference in pll.reference:
        compared = oscillator_mhz / reference
        if not pll.reference_mhz[0] <= compared <= pll.reference_mhz[1]:
            continue
        for output in pll.output:
            step = compared * (output if pll.behind_output else 1)
            first, last = ceil(low / step), floor(high / step)
            for feedback in pll.feedback[
                bisect.bisect_left(pll.feedback, first) : bisect.bisect_right(pll.feedback, last)
            ]:
                mhz = step * feedback / output
                if pll.clock_mhz[0] <= mhz <= pll.clock_mhz[1]:
                    found.setdefault(round(mhz, 6), Setting(mhz, reference, feedback, output))
    return tuple(found[mhz] for mhz in sorted(found))


def settings(board: Board) -> tuple[Setting, ...]:
    """Every clock that a board can have, the slowest first; its oscillator is one of them."""
    plain = Setting(board.oscillator_mhz, generated=False)
    made = _settings_of(board)
    others = (s for s in made if abs(s.mhz - plain.mhz) > plain.mhz * _CLOSE)
    return tuple(sorted([plain, *others]))


def _settings_of(board: Board) -> tuple[Setting, ...]:
    return _settings(board.pll, board.oscillator_mhz) if board.pll is not None else ()


def at_most(board: Board, mhz: float) -> Setting | None:
    """The fastest clock of a board that is no faster than ``mhz``; None where all are."""
    return max((s for s in settings(board) if s.mhz <= mhz), default=None)


def asked(board: Board, mhz: float) -> Setting:
    """The setting for a clock that was asked for.

    Raises:
        BoardError: the board cannot have it; the message names the nearest two.
    """
    all_of_them = settings(board)
    nearest = min(all_of_them, key=lambda s: abs(s.mhz - mhz))
    if abs(nearest.mhz - mhz) <= mhz * _CLOSE:
        return nearest
    below = max((s.mhz for s in all_of_them if s.mhz < mhz), default=None)
    above = min((s.mhz for s in all_of_them if s.mhz > mhz), default=None)
    near = " or ".join(f"clock_mhz={m:.6g}" for m in (below, above) if m is not None)
    raise BoardError(
        f"The board {board.name!r} cannot make a clock of {mhz:g} MHz from its oscillator of "
        f"{board.oscillator_mhz:g} MHz.",
        help=f"take {near}, which are nearest, or leave clock_mhz out.",
    )


def inverted(board: Board) -> str:
    """The module that brings the inverse of a clock to a pin."""
    bitstream = family(board.family).bitstream
    text = bitstream.clock_out if bitstream is not None else ""
    text = text or "  assign pin = ~clock;\n"
    return f"module {CLOCK_OUT} (input clock, output pin);\n{text}endmodule\n"


def verilog(board: Board, setting: Setting) -> str:
    """The module ``allo_clock`` for one clock of a board."""
    if not setting.generated or board.pll is None:
        return f"{_HEAD}{_WIRES}endmodule\n"
    pll = board.pll
    compared = board.oscillator_mhz / setting.reference
    code = next((code for below, code in pll.filters if compared < below), 0)
    instance = pll.verilog.format(
        oscillator_mhz=f"{board.oscillator_mhz:g}",
        clock_mhz=f"{setting.mhz:g}",
        reference=setting.reference,
        feedback=setting.feedback,
        output=setting.output,
        reference_code=setting.reference - 1,
        feedback_code=setting.feedback - 1,
        output_code=int(log2(setting.output)),
        filter=code,
    )
    return f"{_HEAD}{instance}endmodule\n"
