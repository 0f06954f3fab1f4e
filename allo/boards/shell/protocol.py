"""What the host and the shell say to each other: frames, commands and the numbers of both.

Bytes are framed as in RFC 1662: a frame stands between two flags, and a flag or an escape inside it is an
escape and the byte with bit 5 changed. Checks are CRC-32 of the same document.

A request is ``session(2) sequence command bank(2) word(3) length(2) check(4)``, and then, where it carries
data, these and another check over all before it. The device stores data as they come, at places that the
first check has shown to be those meant; a request that is sent again stores the same bytes there. A reply
is ``session(2) sequence status run data check(4)``. Every request may be repeated: a run has a number, and
the device starts each number once.

A stream passes through a ring of ``RING`` words in the device, each at its position since the core's first
state, and two positions are kept: the core's, and how far the core may go. ``PUT`` is a ``WRITE`` whose last
position, once its checks are right, is how far the core may go from then on: behind the words that it stored
for a stream into the core, and, without data, behind the room that there is for a stream out of it. So the
host has sent no word that the device cannot hold, and each of them counts once however often it is sent.
"""

from __future__ import annotations

VERSION = 2
BAUD = 1_000_000
"""Bits a second of the serial port, which the chips of all boards here can do."""
FLAG, ESCAPE, FLIP = 0x7E, 0x7D, 0x20
HELLO, WRITE, READ, START, PUT = 1, 2, 3, 4, 5
OK, DAMAGED, FOREIGN, BUSY = 0, 1, 2, 3
HEADER_BYTES = 11
REPLY_BYTES = 5
CHECK_BYTES = 4
DIGEST_BYTES = 8
CYCLE_BITS = 40
POSITION_BITS = 16
"""Bits of a position in a stream, which begins again at 0."""
RING = 256
"""Words of a stream that the device holds."""
QUIET_BITS = 32
