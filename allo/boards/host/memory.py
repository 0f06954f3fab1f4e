"""The arrays of a design in the board's memory, and the registers of its core, from the host's side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from allo.backend.rtl.design import HardwareDesign
from allo.backend.rtl.interfaces.board import BUS_ERROR, FIRST_ARGUMENT, Board
from allo.backend.sim.boundary.storage import is_sign_extended
from allo.backend.sim.buses.image import from_image, to_image
from allo.dialects.diagnostics import LineError

from ..shell.banks import MEMORY, REGISTERS, Bank
from ..shell.outside import places
from ..shell.protocol import READ, WRITE
from .streams import Ask

_CHUNK = 1024
_WORD = 4


class BoardArrays:
    """What a core with AXI4 masters reaches: arrays in the board's memory, and values in its registers.

    What the memory holds is remembered, so that an array, or a part of one, that a call has not changed is
    not sent again.
    """

    def __init__(
        self, design: HardwareDesign, outside: Board, banks: Sequence[Bank], ask: Ask
    ) -> None:
        self._outside, self._ask = outside, ask
        self._types = {array.name: array.dtype for array in design.arrays}
        numbers = {bank.name: number for number, bank in enumerate(banks)}
        self._memory, self._registers = numbers[MEMORY], numbers[REGISTERS]
        self._places = places(outside)
        self._held: dict[str, np.ndarray] = {}
        self._count = max((r.offset // 4 + r.words for r in outside.registers or ()), default=0)

    def forget(self) -> None:
        """The memory may hold anything."""
        self._held.clear()

    def send(self, arrays: dict[str, np.ndarray], scalars: dict[str, int]) -> None:
        """Put arrays into the memory, and scalars and addresses into the registers."""
        for each in self._outside.arrays:
            if each.loaded:
                cells = arrays[each.name]
                image = to_image(cells, each.count, each.width, each.cell, signed=each.signed)
                self._write(each.name, _whole(image))
        words = [0] * self._count
        for register in self._outside.registers or ():
            if register.written:
                value = {**scalars, **self._places}[register.name]
                for k in range(register.words):
                    words[register.offset // 4 + k] = value >> 32 * k & 0xFFFFFFFF
        first = FIRST_ARGUMENT // 4
        data = b"".join(word.to_bytes(_WORD, "little") for word in words[first:])
        if data:
            self._ask(WRITE, (self._registers, first, len(data)), data)

    def receive(self) -> tuple[dict[str, np.ndarray], dict[str, int]]:
        """The bytes of each array that the core has written, and its scalar results.

        Raises:
            LineError: a reply is too short.
        """
        found = {}
        for each in self._outside.arrays:
            if each.stored:
                found[each.name] = self._read(each.name, each.bytes)
        first = FIRST_ARGUMENT // 4
        length = _WORD * (self._count - first)
        data = self._asked(READ, (self._registers, first, length)) if length else b""
        values = {}
        for register in self._outside.registers or ():
            if not register.written and register.name != BUS_ERROR:
                at = register.offset - FIRST_ARGUMENT
                raw = int.from_bytes(data[at : at + _WORD * register.words], "little")
                values[register.name] = raw & ((1 << register.width) - 1)
        return found, values

    def fill(self, images: dict[str, np.ndarray], arrays: dict[str, np.ndarray]) -> None:
        """Put what was received into the cells of a call."""
        for each in self._outside.arrays:
            if each.name in images:
                signed = is_sign_extended(self._types[each.name])
                image = images[each.name][: each.bytes]
                from_image(
                    image, arrays[each.name], each.count, each.width, each.cell, signed=signed
                )

    def _write(self, name: str, image: np.ndarray) -> None:
        """Send the pieces of an array that the memory does not hold."""
        held = self._held.pop(name, None)
        for start in range(0, len(image), _CHUNK):
            piece = image[start : start + _CHUNK]
            if held is None or not np.array_equal(held[start : start + _CHUNK], piece):
                word = (self._places[name] + start) // _WORD
                self._ask(WRITE, (self._memory, word, len(piece)), piece.tobytes())
        self._held[name] = image

    def _read(self, name: str, size: int) -> np.ndarray:
        self._held.pop(name, None)
        size = -(-size // _WORD) * _WORD
        pieces = []
        for start in range(0, size, _CHUNK):
            length = min(_CHUNK, size - start)
            place = (self._memory, (self._places[name] + start) // _WORD, length)
            pieces.append(self._asked(READ, place))
        image = np.frombuffer(b"".join(pieces), np.uint8)
        self._held[name] = image
        return image

    def _asked(self, command: int, place: tuple[int, int, int]) -> bytes:
        data = self._ask(command, place, b"")
        if len(data) != place[2]:
            raise LineError("a reply is too short")
        return data


def _whole(image: np.ndarray) -> np.ndarray:
    """An image of whole words."""
    return np.pad(image, (0, -len(image) % _WORD))
