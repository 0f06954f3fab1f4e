"""Units for several float operations in a row, for loops that wait for them all."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial

from allo.backend.devices import OperatorDelays
from allo.backend.rtl.float.formats import FORMATS
from allo.backend.rtl.float.native import NATIVE_FORMATS, joint_unit
from allo.backend.rtl.float.quick.joint import Tree, draw, spelled

from ...operators.library import OperatorLibrary
from ...operators.pipeline import stages
from ...operators.request import Drawing, Request, draw_netlist, unit
from ...operators.spec import Operator
from ...operators.tables.words import Mapper, latest

KEPT = 64
"""Answers that one process keeps."""
SPARE = (1.08, 2.0), (1.04, 1.5), (1.0, 1.25)
"""Where the cycles suffice, registers are placed for a quicker clock than the one asked for, and operands
that come later than those of others: by these factors, the best first."""


@lru_cache(maxsize=KEPT)
def joint_operator(
    tree: Tree, operands: int, name: str, most: int, device: OperatorDelays, clock_mhz: float
) -> Operator | None:
    """The unit for a tree of operations of one format; None where it takes more than ``most`` cycles.

    Its operands come as late as those of other units on which a loop waits.
    """
    kind = FORMATS[name]
    native = None
    if name in NATIVE_FORMATS:
        native = partial(joint_unit, tree=tree, operands=operands, kind=kind)
    drawing = Drawing(
        f"f{spelled(tree)}_{kind.label}_fast",
        lambda *signals: draw(tree, signals, kind, flat=device.fanin >= 6),
        native,
        tables=True,
    )
    request = Request("arith.addf", (name,) * operands, name, {}, device, clock_mhz)
    net = draw_netlist(drawing, request.widths)
    mapper = Mapper(device)
    path = latest(mapper.output(net, [mapper.tables.leaves(0.0, kind.width)] * operands))
    if path + device.source_ns > most * request.budget_ns:
        return None
    for spare, late in SPARE:
        later = replace(device, source_ns=late * device.source_ns)
        if stages(net, later, spare * clock_mhz, tables=True) <= most:
            return unit(replace(request, device=later, clock_mhz=spare * clock_mhz), drawing)
    return None


def joint(
    last: Operator, tree: Tree, operands: int, most: int, *, library: OperatorLibrary
) -> Operator | None:
    """The operator for a tree of quick ones, ``last`` at its end, in ``most`` cycles at most."""
    op, _, name, _ = last.asked
    if library.flush:
        return None
    found = joint_operator(tree, operands, name, most, library.device, library.clock_mhz)
    given = ("impl", "fast"), ("tree", tree)
    return found and replace(found, asked=(op, (name,) * operands, name, given))
