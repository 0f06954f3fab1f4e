"""Work in which Python looks for no garbage in cycles.

A compiler makes hundreds of thousands of objects that live until it has ended. Whenever these have grown by a
quarter, Python goes through all of them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Collect no cycles meanwhile; they are found later. Blocks may be nested, and overlap in threads."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
