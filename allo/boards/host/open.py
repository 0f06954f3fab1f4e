"""Streams that stay open: words go to a region and come from it while its processes run on."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

import numpy as np

from allo.dialects.diagnostics import BoundaryError, DeadlockError, LineError
from allo.dialects.text.near import did_you_mean

from ..shell.protocol import RING
from .streams import End, Streams

Words = Callable[[str, np.ndarray], np.ndarray]
"""The words of an array that goes into a stream, by the stream's name."""
Fill = Callable[[str, np.ndarray, np.ndarray], None]
"""Puts words that came from a stream into an array."""


class OpenStreams:
    """The streams of a region in which no process ends, and which runs until they are closed.

    Words that the region gives are taken while others are sent, and kept until :meth:`get` asks for them.

    Attributes:
        is_open: whether words pass; not behind :meth:`close`, a lost line, a call or a reset of the device.

    Args:
        top: name of the region, for messages.
        timeout: seconds in which a word has to pass.
        close: brings the region back to its first state.
    """

    def __init__(
        self,
        top: str,
        streams: Streams,
        words: Words,
        fill: Fill,
        timeout: float,
        close: Callable[[], None],
    ) -> None:
        self._top, self._streams, self._timeout, self._close = top, streams, timeout, close
        self._words, self._fill = words, fill
        self._ends = {end.bank.source: end for end in streams.ends}
        self._came: dict[str, list[np.ndarray]] = {
            n: [] for n, e in self._ends.items() if e.bank.read
        }
        self.is_open = True

    def __enter__(self) -> OpenStreams:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def put(self, name: str, values: np.ndarray) -> None:
        """Send words to the region, and come back when the last one has room on the device.

        Args:
            values: of shape (words,) and, for a stream of blocks, the extents of a block.

        Raises:
            BoundaryError: no stream of this name takes words, the array does not suit it, or it is closed.
            DeadlockError: for ``timeout`` seconds no word has passed.
            LineError: the line was lost, and with it the state of the region.
        """
        end = self._end(name, fed=True)
        end.more(self._words(name, values))
        self._until(lambda: end.passed == end.count, f"put {end.count:,} words into {name}")

    def get(self, name: str, into: np.ndarray) -> None:
        """Fill an array with the next words that the region gives; it changes when all have come.

        Raises:
            BoundaryError: no stream of this name gives words, the array does not suit it, or it is closed.
            DeadlockError: for ``timeout`` seconds no word has passed.
            LineError: the line was lost, and with it the state of the region.
        """
        self._end(name, fed=False)
        wanted = len(into)
        came = self._came[name]
        self._until(lambda: sum(map(len, came)) >= wanted, f"get {wanted:,} words from {name}")
        if wanted:
            rows = np.concatenate(came)
            self._fill(name, rows[:wanted], into)
            came[:] = [rows[wanted:]]

    def close(self) -> None:
        """End the run: the region is in its first state again, and words that are on their way are lost."""
        if self.is_open:
            self.is_open = False
            self._close()

    # --- what passes -------------------------------------------------------------------

    def _end(self, name: str, *, fed: bool) -> End:
        if not self.is_open:
            raise BoundaryError(
                f"The streams of {self._top} are closed.", help="open them again: device.open()."
            )
        names = [n for n, end in self._ends.items() if end.bank.written == fed]
        if name not in names:
            kind = "takes words" if fed else "gives words"
            raise BoundaryError(
                f"No stream {name!r} of {self._top} {kind}.",
                help=did_you_mean(name, names) or f"there is {', '.join(names) or 'none'}.",
            )
        return self._ends[name]

    def _until(self, done: Callable[[], bool], what: str) -> None:
        """Pass words until something holds."""
        until = time.monotonic() + self._timeout
        try:
            while not done():
                if self._pass():
                    until = time.monotonic() + self._timeout
                elif time.monotonic() > until:
                    raise DeadlockError(
                        f"{self._top} stands still on the board: no word has passed for {self._timeout:g} s, "
                        f"and the host waits to {what}.",
                        help="see which words the region waits for; its streams stay open.",
                        notes=tuple(end.told() for end in self._ends.values()),
                    )
        except LineError as error:
            self.is_open = False
            raise LineError(
                "The line was lost: the state of the region is lost.",
                help="see the cable, then open the streams again.",
            ) from error

    def _pass(self) -> bool:
        """Send and take what can pass now; whether anything did, or the core had moved."""
        before = [end.moved for end in self._ends.values()]
        self._streams.look()
        passed = [
            self._take(name, end) if end.bank.read else self._streams.send(end)
            for name, end in self._ends.items()
        ]
        return any(passed) or before != [end.moved for end in self._ends.values()]

    def _take(self, name: str, end: End) -> bool:
        rows = self._streams.take(end)
        if len(rows):
            self._came[name].append(rows)
        return bool(len(rows)) or self._streams.grant(end, end.passed + RING)
