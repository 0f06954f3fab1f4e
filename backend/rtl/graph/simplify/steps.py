"""The steps that make a function's operations fewer and narrower, in their order."""

from __future__ import annotations

from ...operators.library import OperatorLibrary
from ...plan.timing_model import TimingModel
from ..narrow import narrow
from ..nodes import Body
from ..prune import prune
from ..regions import Function
from ..share import share_adders
from ..trees import plant_trees
from ..words import join_words
from .choices import settle_choices
from .either import join_sums
from .parities import flatten_parities


def simplify(
    function: Function, static: Body, library: OperatorLibrary, timing: TimingModel
) -> None:
    """Simplify a function in place; ``static`` holds the values that do not change while others run."""
    prune(function, static)
    join_words(function, static)
    if plant_trees(function, static, library, timing):
        prune(function, static)
    if settle_choices(function, static):
        prune(function, static)
    if narrow(function, static, library):
        prune(function, static)
    if flatten_parities(function, library):
        prune(function, static)
    if join_sums(function, static, library):
        prune(function, static)
    share_adders(function, library)
