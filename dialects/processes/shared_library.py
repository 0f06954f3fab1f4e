"""Loading compiled libraries."""

from __future__ import annotations

import ctypes
from pathlib import Path

from ..diagnostics import BuildError


def load_shared(path: Path) -> ctypes.CDLL:
    """The shared library ``path``, which its maker has found whole (:mod:`allo.dialects.caches.files`).

    Raises:
        BuildError: the loader refuses it.
    """
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise BuildError(
            f"The compiled library {path} cannot be loaded: {error}.",
            help="programs must be allowed to run from its folder (no noexec), and the libraries it "
            "names be installed; ALLO_CACHE_DIR names another folder.",
        ) from error
