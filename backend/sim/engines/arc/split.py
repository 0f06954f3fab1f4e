"""Split an arc model: what the rising edge changes, and what the outputs then are.

The driver evaluates a model twice a cycle: once with the clock raised, once, with new inputs, with the
clock low. Only the first may change registers, only the outputs of the second are looked at.
Models of this form, and arc makes no other of designs with one clock, are split::

    old = state; new = clk; state = new
    if (old ^ new) & new { registers }      (several, some under a further condition)
    outputs

The model of the edge is one of a running design: what a reset does to it is a list of constants.
"""

from __future__ import annotations

from dataclasses import dataclass

from allo.backend.rtl._circt import ir

from .graph import AND, STATE_WRITE, Graph, Node, UnknownFormError
from .nest import nest
from .outline import Outliner, offset_of
from .reset import ResetValue, reset_values
from .share import MOST
from .words.parts import part_wide_words

RESET = "rst"


@dataclass(frozen=True, slots=True)
class SplitModel:
    """Names of the two models, bytes of state, what a reset does, and for each output the one of
    equal value that is kept."""

    edge: str
    settle: str
    size: int
    resets: list[ResetValue]
    aliases: dict[str, str]


def split_model(module: ir.Module, top: str, ports: dict[str, int], size: int) -> SplitModel | None:
    """Add a model for the edge beside the model ``top`` and strip both; None when its form is another.

    Args:
        ports: byte offset by name.
        size: bytes of state.
    """
    model = next(op for op in module.body.operations if op.operation.name == "arc.model")
    outputs = {offset: name for name, offset in ports.items()}
    edge = model.operation.clone(ir.InsertionPoint.after(model.operation))
    edge.attributes["sym_name"] = ir.StringAttr.get(f"{top}_edge", edge.context)
    inside = edge.regions[0].blocks[0]
    try:
        _drop_outputs(inside, outputs)
        part_wide_words(inside)
        outliner = Outliner(edge, size)
        resets = _make_edge(inside, outputs, ports.get(RESET), outliner)
    except UnknownFormError:
        edge.erase()
        return None
    aliases = _make_settle(model, outputs)
    settled = model.regions[0].blocks[0]
    part_wide_words(settled)
    second = Outliner(model.operation, outliner.size)
    _cut_settle(settled, second)
    return SplitModel(f"{top}_edge", top, second.size, resets, aliases)


def _cut_settle(block: ir.Block, outliner: Outliner) -> None:
    """Make functions of a long model of outputs."""
    if sum(op.operation.name == STATE_WRITE for op in block.operations) <= MOST:
        return
    graph = Graph(block)
    try:
        graph.collect(block, [], ())
    except UnknownFormError:
        return
    nest(graph, {}, outliner)


def _drop_outputs(block: ir.Block, outputs: dict[int, str]) -> None:
    for op in [op.operation for op in block.operations]:
        if op.name == STATE_WRITE and offset_of(op.operands[0]) in outputs:
            op.erase()


def _make_edge(
    block: ir.Block, outputs: dict[int, str], reset: int | None, outliner: Outliner
) -> list[ResetValue]:
    """Make a model one for a rising clock without reset; gives what a reset does."""
    graph = Graph(block)
    graph.collect(block, [], outputs)
    known = {_rising_part(test): True for test in {w.tests[0][0] for w in graph.writes if w.tests}}
    resets: list[ResetValue] = []
    level = graph.read.get(reset) if reset is not None else None
    if level is not None:
        found = reset_values(graph, level, known)
        if found is None:
            raise UnknownFormError
        resets, known[level] = found, False
    nest(graph, known, outliner)
    return resets


def _rising_part(condition: Node) -> Node:
    """The part of a condition that says that the clock rises."""
    for part in (condition, *condition.operands):
        if condition.name in AND and part.name in AND and _is_edge(part):
            return part
    raise UnknownFormError


def _is_edge(condition: Node) -> bool:
    """``(old ^ new) & new`` of the clock."""
    if len(condition.operands) != 2:
        return False
    for changed, new in (condition.operands, condition.operands[::-1]):
        if changed.name == "comb.xor" and new.name == "seq.from_clock" and new in changed.operands:
            return True
    return False


def _make_settle(model: ir.OpView, outputs: dict[int, str]) -> dict[str, str]:
    """Strip a model of what the edge does; keep one output of those with one value.

    Gives the kept output for each.
    """
    kept: dict[ir.Value, str] = {}
    aliases: dict[str, str] = {}
    for op in [op.operation for op in model.regions[0].blocks[0].operations]:
        if op.name == "scf.if":
            op.erase()
        elif op.name == STATE_WRITE and (port := outputs.get(offset_of(op.operands[0]))):
            first = kept.setdefault(op.operands[1], port)
            aliases[port] = first
            if first != port:
                op.erase()
    return aliases
