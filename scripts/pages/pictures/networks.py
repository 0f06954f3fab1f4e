"""Networks of dataflow regions, as notebooks and reports draw them."""

from __future__ import annotations

import allo
from allo.dialects.reports.drawing import picture
from allo.dialects.reports.figures import DesignReport
from allo.dialects.reports.network import MOST, condensed
from allo.ir.types import int8, int32
from allo.library.systolic import systolic

from .floor import small


def array() -> str:
    """A systolic array of 4 x 4 cells."""
    arguments = [int8, int8, int32, 8, 8, 8, 4, 4]
    s = allo.customize(systolic, instantiate=arguments)
    s.compose(systolic, instantiate=arguments)
    return _network(s.estimate())


def transformer() -> str:
    """The processes of the small transformer."""
    return _network(small())


def _network(report: DesignReport) -> str:
    """The network that a report has, on white paper."""
    network = next(f.network for f in report.functions if f.network is not None)
    drawn = picture(network if len(network.processes) <= MOST else condensed(network))
    head, rest = drawn.split(">", 1)
    return f'{head} color="#1d2433">\n<rect width="100%" height="100%" fill="#fff" stroke="none"/>{rest}\n'
