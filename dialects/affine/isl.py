"""islpy under the name ``isl``, imported when it is first asked: most kernels are customised without it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import islpy as isl
else:

    class _Isl:
        """Looks names up in islpy, and keeps what it has found."""

        def __getattr__(self, name: str) -> Any:
            found = getattr(importlib.import_module("islpy"), name)
            setattr(self, name, found)
            return found

    isl = _Isl()

__all__ = ["isl"]
