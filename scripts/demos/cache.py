"""What demonstrations share that build everything anew."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def empty_cache() -> Iterator[None]:
    """Build everything as on a machine that has built nothing yet."""
    before = os.environ.get("ALLO_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ALLO_CACHE_DIR"] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ["ALLO_CACHE_DIR"]
            else:
                os.environ["ALLO_CACHE_DIR"] = before
