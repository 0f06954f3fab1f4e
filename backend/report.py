"""The published names of reports: ``from allo.backend.report import parse_xml, Displayer``.

They live in the HLS back end, which is imported when one of them is asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

_NAMES = ("Displayer", "parse_xml", "report_stats")


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module("allo.backend.hls.vendors.report"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(_NAMES)
