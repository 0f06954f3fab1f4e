"""The published names of reports: ``from allo.backend.report import parse_xml, Displayer``.

They live in the HLS back end, which is imported when one of them is asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

from allo.dialects.text.not_provided import not_provided

_NAMES = ("Displayer", "parse_xml", "report_stats")

parse_js = not_provided(
    "allo.backend.report.parse_js",
    "reads the reports of Intel's HLS compiler, which no target here runs.",
    "parse_xml reads reports of Vivado HLS and Vitis HLS; module.report is the report of a build here.",
)


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module("allo.backend.hls.vendors.report"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*_NAMES, "parse_js"]
