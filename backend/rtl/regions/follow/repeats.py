"""Which loops of a nest have iterations that repeat what earlier ones did, told from their lines.

Where no line of an iteration names the counter of a loop around it, the iteration is decided by the words
of the memories that it reads, and by nothing else. One that begins with the words of an earlier one does what
that one did, and so do those behind it. :meth:`.tracer.Tracer.replay` copies their records, so a trace is the
same as if all had been followed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...graph.regions import Level


def outer_levels(levels: Sequence[Level], lines: Sequence[str]) -> int:
    """How many of the outermost loops around an iteration no line of it names, 0 where it waits for words."""
    text = "\n".join(lines)
    if any(word in text for word in ("yield", "Q[", "T.read(", "T.write(")):
        return 0
    named = set(re.findall(r"\bv\d+\b", text))
    count = 0
    while count < len(levels) and f"v{levels[count].iv.number}" not in named:
        count += 1
    return count


def changed(lines: Sequence[str]) -> list[str]:
    """The memories that lines store to, as they name them."""
    stores = (re.match(r" *(M\[\d+\])\[.*\] = ", line) for line in lines)
    return sorted({store[1] for store in stores if store})
