"""OR-tools' CP-SAT under the name ``cp_sat``, imported when first asked: most builds solve no program."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ortools.sat.python import cp_model as cp_sat
else:

    class _CpSat:
        """Looks names up in OR-tools, and keeps what it has found."""

        def __getattr__(self, name: str) -> Any:
            found = getattr(importlib.import_module("ortools.sat.python.cp_model"), name)
            setattr(self, name, found)
            return found

    cp_sat = _CpSat()

__all__ = ["cp_sat"]
