"""The words of streams while a run goes on: what the device has room for goes in, what it has comes out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from allo.backend.sim.boundary.storage import word_bits
from allo.dialects.boundary.stream_arrays import passed_words
from allo.dialects.diagnostics import DeadlockError, LineError

from ..shell.banks import PROGRESS, Bank
from ..shell.protocol import POSITION_BITS, PUT, QUIET_BITS, READ, RING

_CHUNK = 1024
_POSITIONS = 1 << POSITION_BITS
Ask = Callable[[int, tuple[int, int, int], bytes], bytes]
"""Makes a request of a command, a place and data, and gives the data of its reply."""


def _nothing() -> np.ndarray:
    return np.zeros((0, 1), np.uint8)


@dataclass(slots=True)
class End:
    """The host's end of one stream.

    Attributes:
        number: of its bank.
        bank: its ring.
        position: of the core, since its first state.
        cells: of the call; ``words``: those that go, or a place for those that come until all is well.
        moved: words that the core has taken or given in this call.
        passed: words that the host has sent or received.
        granted: words up to which the core may go.
    """

    number: int
    bank: Bank
    position: int = 0
    cells: np.ndarray = field(default_factory=_nothing)
    words: np.ndarray = field(default_factory=_nothing)
    moved: int = 0
    passed: int = 0
    granted: int = 0

    @property
    def count(self) -> int:
        """Words that may pass in the call."""
        return len(self.words)

    def begin(self, cells: np.ndarray) -> None:
        """Take the words of a call, or the room for them."""
        size = word_bits(self.bank.width) // 8
        flat = np.ascontiguousarray(cells).reshape(-1).view(np.uint8)
        self.cells = self.words = flat.reshape(flat.size // size, size)
        if self.bank.read:
            self.words = np.zeros_like(self.cells)
        self.moved = self.passed = self.granted = 0

    def more(self, cells: np.ndarray) -> None:
        """Take further words to send, behind those that were sent."""
        moved = self.moved - self.passed
        self.begin(cells)
        self.moved = moved

    def place(self, words: int, length: int = 0) -> tuple[int, int, int]:
        """The place of a request at the position ``words`` after the call's first."""
        return self.number, (self.position - self.moved + words) % _POSITIONS, length

    def told(self) -> str:
        """What has passed, for messages."""
        said = passed_words(not self.bank.written, self.moved, self.count)
        return f"stream {self.bank.source} {said}."


class Streams:
    """All streams of a device."""

    def __init__(self, banks: Sequence[Bank], ask: Ask, quiet: int, *, endless: bool) -> None:
        self._ask, self._quiet, self._endless = ask, quiet, endless
        self._first = next(n for n, bank in enumerate(banks) if bank.name == PROGRESS)
        self.ends = [End(n, bank) for n, bank in enumerate(banks) if bank.stream is not None]

    def restart(self) -> None:
        """The core is in its first state again."""
        for end in self.ends:
            end.position = 0

    def open(self) -> None:
        """Begin a run to which words are given as it goes."""
        for end in self.ends:
            end.begin(_nothing())

    def begin(self, words: dict[str, np.ndarray]) -> None:
        """Send the first words of a call, and say what room there is."""
        for end in self.ends:
            end.begin(words[end.bank.source])
            self._pass(end)

    def serve(self, top: str, timeout: float) -> None:
        """Pass words until the run is over.

        Raises:
            DeadlockError: no word has passed for so many seconds.
        """
        until = time.monotonic() + timeout
        while True:
            before = [end.moved for end in self.ends]
            running, quiet = self.look()
            passed = [self._pass(end) for end in self.ends]
            if any(passed) or before != [end.moved for end in self.ends]:
                until = time.monotonic() + timeout
            elif not running or (quiet >= self._quiet and self._ran_out()):
                return
            elif time.monotonic() > until:
                raise DeadlockError(
                    f"{top} stands still on the board: no word has passed for {timeout:g} s, and it is not "
                    "done.",
                    help="call the simulator with the same words, which says who waits for whom.",
                    notes=tuple(end.told() for end in self.ends),
                )

    def finish(self) -> dict[str, int]:
        """Take back the words that the core has not taken; how many have passed, by stream."""
        for end in self.ends:
            if end.granted != end.moved:
                self._ask(PUT, end.place(end.moved), b"")
        return {end.bank.source: end.moved for end in self.ends}

    def fill(self) -> None:
        """Give the call the words that came: once no request can fail, for a lost call changes nothing."""
        for end in self.ends:
            if end.bank.read:
                end.cells[: end.passed] = end.words[: end.passed]

    def _ran_out(self) -> bool:
        """Whether a design without an end has taken all words of a stream, or given all that are wanted."""
        return self._endless and any(end.moved == end.count for end in self.ends)

    def look(self) -> tuple[bool, int]:
        """Whether the core runs, for how many cycles no word has passed; the positions, read after that."""
        size = -(-(QUIET_BITS + 1) // 8)
        step = -(-POSITION_BITS // 8)
        length = size + step * len(self.ends)
        data = self._ask(READ, (self._first, 0, length), b"")
        if len(data) != length:
            raise LineError("a reply is too short")
        state = int.from_bytes(data[:size], "little")
        for k, end in enumerate(self.ends):
            at = int.from_bytes(data[size + k * step :][:step], "little")
            gone = (at - end.position) % _POSITIONS
            end.position = at
            end.moved += gone
        return bool(state >> QUIET_BITS), state & ((1 << QUIET_BITS) - 1)

    def _pass(self, end: End) -> bool:
        """Send or take what can pass now; whether anything did, or the core had moved."""
        return self.send(end) if end.bank.written else self._take(end)

    def send(self, end: End) -> bool:
        """Send what there is room for; whether anything was sent."""
        seen = end.passed
        room = RING - (end.passed - end.moved)
        number = min(room, end.count - end.passed, max(1, _CHUNK // end.bank.lanes))
        if number > 0:
            data = end.words[end.passed : end.passed + number, : end.bank.lanes].tobytes()
            self._ask(PUT, end.place(end.passed, len(data)), data)
            end.passed += number
            end.granted = end.passed
        return end.passed != seen

    def _take(self, end: End) -> bool:
        rows = self.take(end)
        end.words[end.passed - len(rows) : end.passed] = rows
        return self.grant(end, min(end.count, end.passed + RING), end.count) or bool(len(rows))

    def take(self, end: End) -> np.ndarray:
        """The next words that the core has given, as rows of bytes."""
        lanes = end.bank.lanes
        number = max(0, min(end.moved - end.passed, max(1, _CHUNK // lanes)))
        rows = np.zeros((number, word_bits(end.bank.width) // 8), np.uint8)
        if number:
            data = self._ask(READ, end.place(end.passed, number * lanes), b"")
            if len(data) != number * lanes:
                raise LineError("a reply is too short")
            rows[:, :lanes] = np.frombuffer(data, np.uint8).reshape(number, lanes)
            end.passed += number
        return rows

    def grant(self, end: End, room: int, last: int | None = None) -> bool:
        """Let the core give words up to a position: the last one, or where it is half a ring further."""
        if room == end.granted or (room != last and room - end.granted < RING // 2):
            return False
        self._ask(PUT, end.place(room), b"")
        end.granted = room
        return True
