"""A model of packs in the llvm dialect."""

from __future__ import annotations

from allo.backend.rtl._circt import ir, parse_hw
from allo.dialects.diagnostics import BuildError

from ..model import ArcModel
from .functions import RESET, Functions, has_order
from .joining import join_registers
from .known import depending, known_values
from .layout import Layout, cell_bits, lanes_of_part, parts_of
from .nodes import Packed, Register, UnpackableError
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
    during = known_values(functions.order, {RESET: 1})
    changed = depending(functions.order, RESET)
    resets = []
    for register in packed.registers:
        if register.reset in changed:
            if register.reset not in during:
                raise UnpackableError("reset")
            if during[register.reset]:
                resets += _reset(register, layout)
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


def _reset(register: Register, layout: Layout) -> list[tuple[int, int, int]]:
    """Byte offset, bits and value of what a reset stores."""
    node, value, bits = register.node, register.reset_value, cell_bits(register.node)
    if not node.is_vector:
        if node.is_bits:
            value *= (1 << node.lanes) - 1
        return [(layout.offset(node, 0), bits, value)]
    lanes = lanes_of_part(node.lanes)
    row = sum(value << (bits * lane) for lane in range(lanes))
    return [(layout.offset(node, part), bits * lanes, row) for part in range(parts_of(node))]
