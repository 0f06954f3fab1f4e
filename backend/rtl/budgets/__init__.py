"""Limits on multiplier blocks and lookup tables, and what a compiled design changes to meet them."""

from __future__ import annotations

from .blocks import meet_limit
from .limits import Compiled, Limits
from .meet import meet_limits
from .tables import refuse_excess

__all__ = ["Compiled", "Limits", "meet_limit", "meet_limits", "refuse_excess"]
