"""``mod.bitstream(path)``: what a module for hardware hands to the flow of its board."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from allo.dialects.diagnostics import BoardError
from allo.dialects.options import read_call, refuse_keywords
from allo.dialects.options.groups import BITSTREAM
from allo.dialects.options.kinds import from_above


class ForBoard:
    """A built design that may be for a board."""

    def bitstream(
        self: Any,
        path: str | Path,
        *,
        clock_mhz: float | None = None,
        seed: int | None = None,
        seeds: int = 1,
        timeout: float = 1800.0,
        progress: Callable[[str], None] | None = None,
        **unknown: Any,
    ) -> Any:
        """Write the bitstream of the design in its shell, for the board of the build.

        What the tools answer is kept in the cache, and the same design gives the same bits. For a board of
        AMD its project is written beside ``path``, and made where AMD's tools are installed.

        Example::

            mod = s.build(target="verilog", board="ulx3s-85f")
            made = mod.bitstream("gemm.bit")
            made.clock_mhz, made.fmax_mhz, made.cells

        Args:
            path: the file to write.
            clock_mhz: the clock on the board; None for the fastest that the routed design reaches.
            seed: of nextpnr's random numbers.
            seeds: how many seeds are tried at once; the fastest is taken.
            timeout: seconds that one run of a tool may take.
            progress: called with a text at each step, which may take minutes.

        Raises:
            OptionError: an option that is unknown, or whose value is not accepted.
            BoardError: the build names no board, its tools are not open, or it lacks a pin or the clock.
            CapacityError: the design does not fit; TimingError: the clock asked for is not reached.
            ToolMissingError, ToolFailedError: one of the tools.
        """
        given = {"clock_mhz": clock_mhz, "seed": seed, "seeds": seeds, "timeout": timeout}
        refuse_keywords("bitstream", unknown, [*given, "progress"])
        chosen = read_call(BITSTREAM, given, "bitstream")
        if self.options.board is None:
            raise BoardError(
                f"{self.top_func_name} was built for no board, so its bitstream has no pins.",
                help='name one: s.build(target="verilog", board="ulx3s-85f"); `allo boards` lists them.',
            )
        board = from_above("allo.boards:board")(self.options.board)
        if board.tools != "open":
            made = from_above("allo.boards.vendor:bitstream")
            return made(self, Path(path), board, clock_mhz, timeout, progress)
        make = from_above("allo.boards.flow:bitstream")
        return make(self, path, board, progress=progress, **chosen)
