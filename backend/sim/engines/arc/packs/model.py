"""A model of packs in the llvm dialect."""

from __future__ import annotations

from collections.abc import Mapping

from allo.backend.rtl._circt import ir, parse_hw
from allo.dialects.diagnostics import BuildError

from ..model import ArcModel
from .functions import RESET, Functions, has_order
from .joining import join_registers
from .known import depending, known_values
from .layout import Layout, cell_bits, lanes_of_part, parts_of
from .nodes import Node, Packed, Register, UnpackableError
from .reading import read_packs


def pack_model(top: str, text: str) -> ArcModel | None:
    """The model of a design given as text; None where packs do not serve it."""
    try:
        packed = read_packs(parse_hw(text), top)
        join_registers(packed)
        if has_order(packed):
            return _model(top, packed)
        return _model(top, read_packs(parse_hw(text), top))
    except UnpackableError:
        return None
    except ir.MLIRError as error:
        raise BuildError(f"CIRCT cannot read {top}: {error}") from error


def _model(top: str, packed: Packed) -> ArcModel:
    layout = Layout.of(packed)
    functions = Functions(packed, layout, top)
    text = "\n".join([functions.edge(), functions.settle()])
    resets = _resets(packed, functions.order, layout)
    named = {
        name: (layout.bit_of(register, lane), register.node.width)
        for register in packed.registers
        for lane, name in enumerate(register.names)
    }
    return ArcModel(
        text=text,
        edge=f"{top}_edge_eval",
        settle=f"{top}_eval",
        initial="",
        size=layout.size,
        ports=layout.ports,
        aliases={},
        registers=named,
        memories=[layout.memory_rows(memory) for memory in packed.memories],
        resets=resets,
    )


def _resets(packed: Packed, order: list[Node], layout: Layout) -> list[tuple[int, int, int]]:
    """Byte offset, bits and value of all that a reset stores.

    A register may say so by its reset, or take a constant from a multiplexer that the reset switches.
    What does not depend on the reset keeps what it holds: no design depends on that.

    Raises:
        UnpackableError: what it stores is not known from the reset alone.
    """
    during = known_values(order, {RESET: 1})
    changed = depending(order, RESET)
    found = []
    for register in packed.registers:
        stored = _stored(register, during, changed)
        if stored is not None:
            found += _row(register, stored, layout)
    for memory in packed.memories:
        for write in memory.writes:
            if changed.isdisjoint(node for node in write if node is not None):
                continue
            if write[2] is None or during.get(write[2]) != 0:
                raise UnpackableError("reset")
    return found


def _stored(register: Register, during: Mapping[Node, int], changed: set[Node]) -> int | None:
    """What a reset stores in each lane of a register; None where it leaves that as it is."""
    if register.reset in changed:
        if register.reset not in during:
            raise UnpackableError("reset")
        if during[register.reset]:
            return register.reset_value
    if register.value not in changed and register.enable not in changed:
        return None
    if register.enable is not None and during.get(register.enable) == 0:
        return None
    taken = register.enable is None or during.get(register.enable) == 1
    alone = register.reset is None or register.reset in changed
    if not (taken and alone) or register.value not in during:
        raise UnpackableError("reset")
    return during[register.value]


def _row(register: Register, value: int, layout: Layout) -> list[tuple[int, int, int]]:
    """Byte offset, bits and value of what a reset stores in all lanes."""
    node, bits = register.node, cell_bits(register.node)
    if not node.is_vector:
        if node.is_bits:
            value *= (1 << node.lanes) - 1
        return [(layout.offset(node, 0), bits, value)]
    lanes = lanes_of_part(node.lanes)
    row = sum(value << (bits * lane) for lane in range(lanes))
    return [(layout.offset(node, part), bits * lanes, row) for part in range(parts_of(node))]
