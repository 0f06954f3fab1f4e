"""Requests over a serial port: each is repeated until its reply is whole."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import termios
import time
import tty
import zlib

from allo.dialects.diagnostics import LineError, PortError

from ..shell.protocol import CHECK_BYTES, DAMAGED, ESCAPE, FLAG, FLIP, REPLY_BYTES

_TRIES = 12


def framed(body: bytes) -> bytes:
    """A body between flags."""
    out = bytearray([FLAG])
    for byte in body:
        out += bytes([ESCAPE, byte ^ FLIP]) if byte in (FLAG, ESCAPE) else bytes([byte])
    return bytes([*out, FLAG])


def unframed(text: bytes) -> bytes:
    """What was between two flags."""
    out, escaped = bytearray(), False
    for byte in text:
        if byte == ESCAPE:
            escaped = True
        else:
            out.append(byte ^ FLIP if escaped else byte)
            escaped = False
    return bytes(out)


def checked(body: bytes) -> bytes:
    """A body with its check behind it."""
    return body + zlib.crc32(body).to_bytes(CHECK_BYTES, "little")


class Link:
    """A serial port, held by this process alone.

    Raises:
        PortError: there is no such port, it may not be used, or another process has it.
    """

    def __init__(self, port: str, baud: int, patience: float) -> None:
        self._port, self._baud, self._patience = port, baud, patience
        self._sequence = 0
        self.repeated = 0
        self._file = self._opened()

    def close(self) -> None:
        """Let the port go."""
        with contextlib.suppress(OSError):
            os.close(self._file)

    def ask(
        self, session: int, command: int, place: tuple[int, int, int], data: bytes = b""
    ) -> bytes:
        """The reply to a request: status, run and data.

        Args:
            place: bank, word, and bytes to come or to go.

        Raises:
            LineError: no whole reply came, however often the request was sent.
        """
        bank, word, length = place
        wanted = length if not data else 0
        for _ in range(_TRIES):
            self._sequence = (self._sequence + 1) % 256
            head = session.to_bytes(2, "little") + bytes([self._sequence, command])
            head += bank.to_bytes(2, "little") + word.to_bytes(3, "little")
            body = checked(head + length.to_bytes(2, "little"))
            body = checked(body + data) if data else body
            reply = self._once(framed(body), wanted)
            if reply is not None:
                return reply
            self.repeated += 1
        raise LineError("no whole reply came")

    def _once(self, frame: bytes, wanted: int) -> bytes | None:
        bits = 10 * (len(frame) + 2 * wanted + 64)
        try:
            termios.tcflush(self._file, termios.TCIFLUSH)
            sent = 0
            while sent < len(frame):
                sent += os.write(self._file, frame[sent:])
            return self._reply(time.monotonic() + self._patience + bits / self._baud)
        except (OSError, termios.error) as error:
            raise LineError(str(error)) from error

    def _reply(self, until: float) -> bytes | None:
        kept = bytearray()
        while (left := until - time.monotonic()) > 0:
            if not select.select([self._file], [], [], left)[0]:
                return None
            got = os.read(self._file, 65536)
            if not got:
                raise LineError("the port is gone")
            kept += got
            *frames, rest = bytes(kept).split(bytes([FLAG]))
            for frame in map(unframed, frames):
                body, check = frame[:-CHECK_BYTES], frame[-CHECK_BYTES:]
                if len(body) < REPLY_BYTES or checked(body)[-CHECK_BYTES:] != check:
                    if frame:
                        return None
                    continue
                if body[3] == DAMAGED:
                    return None
                if body[2] == self._sequence:
                    return body[3:]
            kept = bytearray(rest)
        return None

    def _opened(self) -> int:
        try:
            file = os.open(self._port, os.O_RDWR | os.O_NOCTTY)
        except OSError as error:
            raise _unopened(self._port, error) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            tty.setraw(file)
            mode = termios.tcgetattr(file)
            mode[4] = mode[5] = getattr(termios, f"B{self._baud}")
            mode[2] |= termios.CLOCAL | termios.CREAD
            termios.tcsetattr(file, termios.TCSANOW, mode)
        except BlockingIOError as error:
            os.close(file)
            raise PortError(
                f"Another process has the port {self._port} open.",
                help="end it, or close its device first.",
            ) from error
        except (termios.error, AttributeError) as error:
            os.close(file)
            raise PortError(
                f"{self._port} is no serial port that takes {self._baud} baud.",
                help="see which port the board has with `ls /dev/serial/by-id`.",
            ) from error
        return file


def _unopened(port: str, error: OSError) -> PortError:
    if error.errno == errno.EACCES:
        return PortError(
            f"You may not open {port}.",
            help="join its group (`sudo usermod -aG dialout $USER`, then log in again), or add the udev rule "
            '`SUBSYSTEM=="tty", ATTRS{idVendor}=="0403", TAG+="uaccess"` in /etc/udev/rules.d/60-allo.rules.',
        )
    if error.errno == errno.EBUSY:
        return PortError(f"Another process has the port {port} open.", help="end it.")
    return PortError(
        f"There is no device at {port}: {error.strerror}.",
        help="see which port the board has with `ls /dev/serial/by-id`.",
    )
