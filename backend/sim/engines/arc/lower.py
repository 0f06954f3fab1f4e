"""From hw, comb and seq text to llvm dialect text, through CIRCT's arc dialect."""

from __future__ import annotations

import re

from allo.backend.rtl._circt import ir, parse_hw, run_hw_passes, without_classes
from allo.dialects.diagnostics import BuildError
from allo.dialects.processes.collecting import without_collection

from .flatten import flatten
from .lanes.roll import define_loops, roll_lanes
from .model import ArcModel
from .packs.model import pack_model
from .reads import merge_reads
from .recipe import TO_LLVM, TO_STATE
from .split import split_model
from .words.delay_lines import pack_delay_lines
from .words.wide import halve_wide_words

_STATE = re.compile(r"!arc\.state<i(\d+)>")
_MEMORY = re.compile(r"!arc\.memory<(\d+) x i(\d+),")


def lower_text(top: str, text: str) -> ArcModel:
    """Lower a design given as text, in this process."""
    with without_classes(), without_collection():
        return pack_model(top, text) or _lower(top, text)


def _lower(top: str, text: str) -> ArcModel:
    module = parse_hw(text)
    try:
        flatten(module)
        _refuse_leftovers(module, top)
        pack_delay_lines(module)
        _fold_resets(module)
        # Verified once, not after each of the passes: that would take a third of their time.
        run_hw_passes(module, TO_STATE, verify=False)
        merge_reads(_model(module))
        module.operation.verify()
        size, ports, registers = _layout(module)
        memories = _memories(module)
        split = split_model(module, top, ports, size)
        loops = roll_lanes(module)
        halve_wide_words(module)
        run_hw_passes(module, TO_LLVM, verify=False)
        module.operation.verify()
    except (ir.MLIRError, ValueError) as error:
        raise BuildError(
            f"CIRCT's arc cannot simulate {top}.",
            help='use simulator="verilator".',
            notes=tuple(str(error).splitlines()[:10]),
        ) from error
    lowered = define_loops(module, loops)
    initial = f"{top}_initial"
    return ArcModel(
        text=lowered,
        edge=f"{split.edge if split else top}_eval",
        resets=[(r.offset, r.bits, r.value) for r in split.resets] if split else [],
        settle=f"{top}_eval",
        initial=initial if f"@{initial}(" in lowered else "",
        size=split.size if split else size,
        ports=ports,
        aliases=split.aliases if split else {},
        registers=registers,
        memories=memories,
    )


def _refuse_leftovers(module: ir.Module, top: str) -> None:
    modules = [op for op in module.body.operations if op.operation.name == "hw.module"]
    external = [op for op in module.body.operations if op.operation.name == "hw.module.extern"]
    if len(modules) == 1 and not external:
        return
    names = ", ".join(op.attributes["sym_name"].value for op in [*modules, *external])
    raise BuildError(
        f"CIRCT's arc cannot simulate {top}: modules are left after flattening ({names}).",
        help='every module but the top must be private; use simulator="verilator" with '
        "external modules.",
    )


def _fold_resets(module: ir.Module) -> None:
    """Make a reset to anything but a zero constant a multiplexer before the register."""
    for register in _registers_with_reset(module):
        value, clock, *enable, reset, reset_value = register.operands
        if _is_zero(reset_value):
            continue
        attributes = {name: register.attributes[name] for name in register.attributes}
        sizes = [1, 1, *([1] if enable else []), 0, 0, 0]
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(sizes, register.context)
        with module.context, register.location, ir.InsertionPoint(register):
            chosen = ir.Operation.create(
                "comb.mux", results=[value.type], operands=[reset, reset_value, value]
            )
            moves = [
                ir.Operation.create("comb.or", results=[e.type], operands=[e, reset]).result
                for e in enable
            ]
            plain = ir.Operation.create(
                register.name,
                results=[value.type],
                operands=[chosen.result, clock, *moves],
                attributes=attributes,
            )
        register.results[0].replace_all_uses_with(plain.result)
        register.erase()


def _registers_with_reset(module: ir.Module) -> list[ir.Operation]:
    operands = {"seq.compreg": 4, "seq.compreg.ce": 5}
    return [
        op.operation
        for top in module.body.operations
        for region in top.regions
        for block in region.blocks
        for op in block.operations
        if len(op.operands) == operands.get(op.operation.name)
    ]


def _is_zero(value: ir.Value) -> bool:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "hw.constant":
        return False
    return bool(ir.IntegerAttr(owner.attributes["value"]).value == 0)


def _model_operations(module: ir.Module) -> list[ir.OpView]:
    return list(_model(module).regions[0].blocks[0].operations)


def _model(module: ir.Module) -> ir.OpView:
    return next(op for op in module.body.operations if op.operation.name == "arc.model")


def _layout(module: ir.Module) -> tuple[int, dict[str, int], dict[str, tuple[int, int]]]:
    """Size of the state, offsets of the ports, first bits and bits of the registers."""
    size = ir.IntegerAttr(_model(module).attributes["storageBytes"]).value
    ports: dict[str, int] = {}
    registers: dict[str, tuple[int, int]] = {}
    for op in _model_operations(module):
        name = op.operation.name
        if name in ("arc.root_input", "arc.root_output"):
            port = ir.StringAttr(op.attributes["name"]).value
            ports[port] = ir.IntegerAttr(op.attributes["offset"]).value
        elif name == "arc.alloc_state" and "name" in op.attributes:
            bits = _STATE.fullmatch(str(op.results[0].type))
            if bits:
                register = ir.StringAttr(op.attributes["name"]).value
                offset = ir.IntegerAttr(op.attributes["offset"]).value
                registers[register] = (8 * offset, int(bits[1]))
    return size, ports, registers


def _memories(module: ir.Module) -> list[tuple[int, int, int, int]]:
    """Offset, words, bits and stride of every memory."""
    found = []
    for op in _model_operations(module):
        if op.operation.name != "arc.alloc_memory":
            continue
        kind = _MEMORY.match(str(op.results[0].type))
        if kind:
            offset, stride = (
                ir.IntegerAttr(op.attributes[name]).value for name in ("offset", "stride")
            )
            found.append((offset, int(kind[1]), int(kind[2]), stride))
    return found
