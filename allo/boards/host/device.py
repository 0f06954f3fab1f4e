"""Calls of a design on a board: those of the simulator."""

from __future__ import annotations

import secrets
import time
from types import TracebackType
from typing import Any

import numpy as np

from allo.backend.sim import RTLModule
from allo.backend.sim.boundary.stream_words import from_words
from allo.backend.sim.engines.interface import SimResult
from allo.dialects.boundary.arguments import Call
from allo.dialects.boundary.arranging import arrange
from allo.dialects.boundary.storage import natural_dtype
from allo.dialects.diagnostics import BoundaryError, LineError, PortError

from ..shell.banks import CYCLES, banks_of
from ..shell.protocol import BAUD, BUSY, DIGEST_BYTES, FOREIGN, HELLO, OK, READ, START, WRITE
from ..shell.top import digest_of
from .link import Link
from .memory import BoardArrays
from .open import OpenStreams
from .streams import Streams
from .words import cells_of, words_of

_CHUNK = 1024


def connect(
    port: str,
    mod: RTLModule,
    *,
    baud: int = BAUD,
    patience: float = 0.5,
    timeout: float = 600.0,
    quiet: int = 100_000,
) -> Device:
    """The design ``mod`` on the board at a serial port; its core is then in its first state.

    Args:
        patience: seconds that a reply may take beside its time on the line.
        timeout: seconds that a run may take, or pass no word of a stream.
        quiet: cycles without a word after which a region in which no process ends is taken to stand still.

    Raises:
        PortError: no such port, not allowed, in use; or the board holds another design.
        LineError: nobody answers.
    """
    return Device(Link(port, baud, patience), mod, timeout, quiet)


class Device:
    """A design on a board.

    Attributes:
        cycles: of the last run, from start to done, or to the last word of a region in which no process
            ends; None before one.
        words: how many words each stream argument passed in the last run.
    """

    def __init__(self, link: Link, mod: RTLModule, timeout: float, quiet: int) -> None:
        self._link, self._mod, self._timeout = link, mod, timeout
        self._banks = banks_of(mod.design)
        self.cycles: int | None = None
        self.words: dict[str, int] = {}
        self._session = self._run = 0
        self._streams = None
        self._stale = False
        self._memory = None
        self._opened: OpenStreams | None = None
        if mod.design.board is not None:
            self._memory = BoardArrays(mod.design, mod.design.board, self._banks, self._asked)
        if mod.design.streams:
            self._streams = Streams(self._banks, self._asked, quiet, endless=mod.design.endless)
        try:
            self._greet()
        except BaseException:
            link.close()
            raise

    def __enter__(self) -> Device:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the port go."""
        self._link.close()

    @property
    def repeated(self) -> int:
        """How many requests were sent again because the line had damaged them or their replies."""
        return self._link.repeated

    def reset(self) -> None:
        """Bring the core back to its first state."""
        self._greet()

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run one transaction, as a call of the simulator does.

        Raises:
            BoundaryError: an argument of the wrong count, kind, shape or layout.
            LineError: the line was lost; the message says whether a run was started.
            PortError: the run has not ended in time.
            DeadlockError: a region has passed no word in that time.
        """
        signature = self._mod.signature
        call = signature.bind(arrange(signature, args, named, "A call of a Device"))
        arrays, scalars = self._mod.inputs_of(call)
        streams = self._mod.words_of(call)
        try:
            if self._stale:
                self._greet()
            self._send(arrays, scalars)
            if self._streams:
                self._streams.begin({name: words for name, (words, _, _) in streams.items()})
        except LineError as error:
            raise _lost(
                "The line was lost in the middle of a transfer: nothing was started."
            ) from error
        self._stale = True
        try:
            self._start()
            if self._streams:
                self._streams.serve(self._mod.top_func_name, self._timeout)
                self.words = self._streams.finish()
            if self._mod.design.endless:
                self._hello()
            taken = self._receive()
            images, returned = self._memory.receive() if self._memory else ({}, {})
        except LineError as error:
            raise _lost(
                "The line was lost: the run's result is lost, the arrays of the call are as before."
            ) from error
        self._stale = False
        if self._streams:
            self._streams.fill()
        for stream in self._mod.design.streams:
            if stream.direction == "out":
                from_words(*streams[stream.name], stream)
        for array in self._mod.design.arrays:
            words = [taken[b.name] for b in self._banks if b.array is array and b.read]
            if words:
                cells_of(words, arrays[array.name], array)
        if self._memory:
            self._memory.fill(images, arrays)
        self.cycles = taken[CYCLES][0]
        returned |= {
            b.source: taken[b.name][0]
            for b in self._banks
            if b.source and b.read and not b.array and not b.live
        }
        self._mod._take_scalars(call, SimResult(self.cycles, returned))
        return call.finish()

    def open(self, **arguments: Any) -> OpenStreams:
        """Start a region in which no process ends, and keep its streams open for words as they come.

        Example::

            with device.open() as streams:
                streams.put("A", np.array([1, 2, 0], np.int32))
                streams.get("B", total)

        Args:
            arguments: those that are no streams, by name.

        Raises:
            BoundaryError: the design's processes end, so a call passes all of its words; or an argument does
                not suit it.
            LineError: the line was lost; nothing was started.
        """
        design, top = self._mod.design, self._mod.top_func_name
        if self._streams is None or not design.endless:
            raise BoundaryError(
                f"The run of {top} has an end, with which its streams are closed.",
                help="call the device with all words of the run.",
            )
        call = self._bound(arguments)
        arrays, scalars = self._mod.inputs_of(call)
        try:
            self._greet()
            self._send(arrays, scalars)
            self._streams.open()
            self._start()
        except LineError as error:
            raise _lost("The line was lost: nothing was started.") from error
        self._stale = True

        def words(name: str, values: np.ndarray) -> np.ndarray:
            bound = self._bound({**arguments, name: values})
            return self._mod.words_of(bound)[name][0]

        def fill(name: str, rows: np.ndarray, into: np.ndarray) -> None:
            bound = self._bound({**arguments, name: into})
            found, cells, parameter = self._mod.words_of(bound)[name]
            found.reshape(-1).view(np.uint8)[:] = rows.reshape(-1)
            stream = next(stream for stream in design.streams if stream.name == name)
            from_words(found, cells, parameter, stream)
            bound.finish()

        self._opened = OpenStreams(top, self._streams, words, fill, self._timeout, self._greet)
        return self._opened

    def _bound(self, given: dict[str, Any]) -> Call:
        """The arguments of a run whose streams have no words yet but those given."""
        streams = {stream.name for stream in self._mod.design.streams}
        pairs = zip(self._mod.design.arguments, self._mod.signature.arguments, strict=True)
        values = {
            parameter.name: np.zeros(
                tuple(extent or 0 for extent in parameter.shape or ()),
                natural_dtype(parameter.dtype),
            )
            for name, parameter in pairs
            if name in streams
        }
        values |= given
        return self._mod.signature.bind(arrange(self._mod.signature, (), values, "Device.open"))

    def _hello(self) -> None:
        """Begin a session, with the core in its first state; streams that are open are closed."""
        if self._opened is not None:
            self._opened.is_open = False
        self._session, self._run = 1 + secrets.randbelow(65535), 0
        self._asked(HELLO, (0, 0, 0))
        if self._streams:
            self._streams.restart()
        if self._memory:
            self._memory.forget()
        self._stale = False

    def _greet(self) -> None:
        try:
            self._hello()
            number = len(self._banks) - 1
            found = self._asked(READ, (number, 0, DIGEST_BYTES))
        except LineError as error:
            raise LineError(
                "Nobody answers at the port.",
                help="see that the board is on, holds a bitstream of Allo, and that the baud rate is that of "
                "the build.",
            ) from error
        if found != digest_of(self._mod.design):
            raise PortError(
                f"The board holds another design than {self._mod.top_func_name} as it is built here.",
                help="program the bitstream of this build.",
            )

    def _asked(self, command: int, place: tuple[int, int, int], data: bytes = b"") -> bytes:
        """The data of a reply; a run that goes on is asked for again."""
        until = time.monotonic() + self._timeout
        while True:
            status, _, *rest = self._link.ask(self._session, command, place, data)
            if status == OK or (status == BUSY and command == START and self._streams):
                return bytes(rest)
            if status == FOREIGN:
                raise LineError("the board was reset, or another program greeted it")
            if status != BUSY:
                raise LineError(f"the board answered with status {status}")
            if time.monotonic() > until:
                raise PortError(
                    f"The run on the board has not ended after {self._timeout:g} s.",
                    help="call reset() of the device, or give connect a longer timeout=.",
                )

    def _send(self, arrays: dict[str, np.ndarray], scalars: dict[str, int]) -> None:
        banks = [bank for bank in self._banks if bank.written and not bank.live and not bank.slow]
        rows = {b.source: words_of(arrays[b.source], b.array) for b in banks if b.array}
        stretch = [
            (number, word, value, bank.lanes)
            for number, bank in enumerate(banks)
            for word, value in enumerate(
                rows[bank.source][bank.number] if bank.array else [scalars[bank.source]]
            )
        ]
        for piece in _pieces(stretch):
            data = b"".join(value.to_bytes(lanes, "little") for _, _, value, lanes in piece)
            self._asked(WRITE, (piece[0][0], piece[0][1], len(data)), data)
        if self._memory:
            self._memory.send(arrays, scalars)

    def _start(self) -> None:
        self._run = self._run % 255 + 1
        self._asked(START, (0, self._run, 0))

    def _receive(self) -> dict[str, list[int]]:
        stretch = [
            (number, word, 0, bank.lanes)
            for number, bank in enumerate(self._banks[:-1])
            if bank.read and not bank.live and not bank.slow
            for word in range(bank.depth)
        ]
        taken: dict[str, list[int]] = {
            bank.name: [] for bank in self._banks if bank.read and not bank.live
        }
        for piece in _pieces(stretch):
            length = sum(lanes for *_, lanes in piece)
            data = self._asked(READ, (piece[0][0], piece[0][1], length))
            if len(data) != length:
                raise LineError("a reply is too short")
            for number, _, _, lanes in piece:
                bank = self._banks[number]
                value = int.from_bytes(data[:lanes], "little") & ((1 << bank.width) - 1)
                taken[bank.name].append(value)
                data = data[lanes:]
        return taken


def _pieces(stretch: list[tuple[int, int, int, int]]) -> list[list[tuple[int, int, int, int]]]:
    """Words in rows that a request holds."""
    found: list[list[tuple[int, int, int, int]]] = []
    size = _CHUNK
    for item in stretch:
        if size + item[3] > _CHUNK:
            found.append([])
            size = 0
        found[-1].append(item)
        size += item[3]
    return found


def _lost(message: str) -> LineError:
    return LineError(message, help="see the cable, then connect again.")
