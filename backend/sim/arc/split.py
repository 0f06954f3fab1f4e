"""Split an arc model: what the rising edge changes, and what the outputs then are.

The driver evaluates a model twice a cycle: once with the clock raised, once, with new inputs, with the
clock low. Only the first may change registers, only the outputs of the second are looked at.
Models of this form, and arc makes no other of designs with one clock, are split::

    old = state; new = clk; state = new
    if (old ^ new) & new { registers }      (several, some under a further condition)
    outputs
"""

from __future__ import annotations

from dataclasses import dataclass

from allo.backend.rtl._circt import ir

_AND = ("comb.and", "arith.andi")


@dataclass(frozen=True, slots=True)
class SplitModel:
    """Names of the two models, and for each output the one of equal value that is kept."""

    edge: str
    settle: str
    aliases: dict[str, str]


def split_model(module: ir.Module, top: str, ports: dict[str, int]) -> SplitModel | None:
    """Add a model for the edge beside the model ``top`` and strip both; None when its form is another.

    Args:
        ports: byte offset by name.
    """
    model = next(op for op in module.body.operations if op.operation.name == "arc.model")
    if not _risings(model):
        return None
    outputs = {offset: name for name, offset in ports.items()}
    _edge_model(model, f"{top}_edge", outputs)
    for branch in _risings(model):
        branch.erase()
    return SplitModel(f"{top}_edge", top, _merge_outputs(model, outputs))


def _edge_model(model: ir.OpView, name: str, outputs: dict[int, str]) -> None:
    """A copy of a model that leaves its outputs alone."""
    edge = model.operation.clone(ir.InsertionPoint.after(model.operation))
    edge.attributes["sym_name"] = ir.StringAttr.get(name, edge.context)
    for write, _ in _output_writes(edge, outputs):
        write.erase()


def _merge_outputs(model: ir.OpView, outputs: dict[int, str]) -> dict[str, str]:
    """Keep one output of those with one value; gives the kept one for each."""
    kept: dict[ir.Value, str] = {}
    aliases: dict[str, str] = {}
    for write, port in _output_writes(model, outputs):
        first = kept.setdefault(write.operands[1], port)
        aliases[port] = first
        if first != port:
            write.erase()
    return aliases


def _operations(model: ir.OpView | ir.Operation) -> list[ir.Operation]:
    return [op.operation for op in model.regions[0].blocks[0].operations]


def _risings(model: ir.OpView | ir.Operation) -> list[ir.Operation]:
    """The branches on the rising edge, when they are all the branches there are and give no values."""
    branches = [op for op in _operations(model) if op.name == "scf.if"]
    if all(_is_rising(branch) and not len(branch.results) for branch in branches):
        return branches
    return []


def _is_rising(branch: ir.Operation) -> bool:
    """Whether a branch is taken on the rising edge only, perhaps under a further condition."""
    condition = _definition(branch.operands[0])
    if condition is None or condition.name not in _AND:
        return False
    return _is_edge(condition) or any(
        part is not None and part.name in _AND and _is_edge(part)
        for part in map(_definition, condition.operands)
    )


def _is_edge(condition: ir.Operation) -> bool:
    """``(old ^ new) & new`` of the clock."""
    if len(condition.operands) != 2:
        return False
    for changed, new in (condition.operands, list(condition.operands)[::-1]):
        difference = _definition(changed)
        if difference is not None and difference.name == "comb.xor" and _is_clock(new):
            return new in list(difference.operands)
    return False


def _is_clock(value: ir.Value) -> bool:
    source = _definition(value)
    return source is not None and source.name == "seq.from_clock"


def _definition(value: ir.Value) -> ir.Operation | None:
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner


def _output_writes(
    model: ir.OpView | ir.Operation, outputs: dict[int, str]
) -> list[tuple[ir.Operation, str]]:
    """The writes of outputs, with the port each writes."""
    found = []
    for op in _operations(model):
        if op.name != "arc.state_write":
            continue
        port = outputs.get(_offset_of(op.operands[0]) or -1)
        if port is not None:
            found.append((op, port))
    return found


def _offset_of(state: ir.Value) -> int | None:
    """The byte offset of a state's storage."""
    source = _definition(state)
    if source is None or "offset" not in source.attributes:
        return None
    return ir.IntegerAttr(source.attributes["offset"]).value
