"""From hw, comb and seq text to llvm dialect text, through CIRCT's arc dialect."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass

import numpy as np

from allo.backend.rtl._circt import ir, parse_hw, run_hw_passes, without_classes
from allo.backend.rtl.design import HardwareDesign
from allo.backend.rtl.float.native import with_square_roots
from allo.dialects.cache import cache_dir, content_key, publish
from allo.dialects.diagnostics import BuildError

from .delay_lines import pack_delay_lines
from .split import split_model

# Instances must go first: what is left of them would silently count as external.
_FLATTEN = ("hw-flatten-modules",)
# comb's canonical forms are made for bodies of hw modules, where order does not count. In an arc model
# it does, and they would leave uses before definitions: so they come first.
ARC_PASSES = (
    "canonicalize",
    "convert-to-arcs",
    "arc-split-loops",
    "arc-lower-state",
    "arc-inline",
    "cse",
    "arc-lower-arcs-to-funcs",
    "arc.model(arc-allocate-state)",
    "arc-lower-clocks-to-funcs",
    "cse",
)
"""From hardware without memories and enables to functions over a block of state."""
_TO_STATE = (
    "hw.module(lower-seq-fifo,lower-seq-hlmem,lower-seq-shiftreg,lower-seq-compreg-ce)",
    "lower-seq-firmem",
    "arc-infer-memories{tap-ports=false}",
    *ARC_PASSES,
)
_TO_LLVM = ("cse", "lower-arc-to-llvm", "canonicalize", "cse")
_STATE = re.compile(r"!arc\.state<i(\d+)>")
_MEMORY = re.compile(r"!arc\.memory<(\d+) x i(\d+),")


@dataclass(frozen=True, slots=True)
class ArcModel:
    """A design as functions over a block of state.

    Attributes:
        text: functions in the llvm dialect.
        edge, settle: names of the functions of the state for a raised clock and for a low one;
            one and the same where the model could not be split. If it was, the former is one of a
            design that is not in reset.
        resets: byte offset, bits and reset value of registers, where the model was split.
        initial: name of the function that initialises the state, or "".
        size: bytes of state.
        ports: byte offset of each port of the top.
        aliases: for each output the one of equal value that is kept.
        registers: byte offset and bits of each named register.
        memories: byte offset, words, bits and bytes from word to word of each memory.
    """

    text: str
    edge: str
    settle: str
    initial: str
    size: int
    ports: dict[str, int]
    aliases: dict[str, str]
    registers: dict[str, tuple[int, int]]
    memories: list[tuple[int, int, int, int]]
    resets: list[tuple[int, int, int]]

    def registers_of(self, state: np.ndarray) -> dict[str, int]:
        """The value of every register, by hierarchical name."""
        return {
            name: int.from_bytes(state[at : at + -(-bits // 8)].tobytes(), "little")
            & ((1 << bits) - 1)
            for name, (at, bits) in self.registers.items()
        }


def lower_design(design: HardwareDesign) -> ArcModel:
    """Lower a design, or take what the cache holds of it.

    Raises:
        BuildError: when the design has something arc cannot simulate.
    """
    text = design.native_hw_text or design.hw_text
    key = content_key(design.top, text, *_TO_STATE, "12")
    file = cache_dir("arc") / f"{key}.json"
    if file.exists():
        return _read(file.read_text())
    with without_classes():
        model = _lower(design.top, text)
    publish(file, json.dumps(asdict(model)))
    return model


def _read(text: str) -> ArcModel:
    data = json.loads(text)
    data["registers"] = {name: tuple(at) for name, at in data["registers"].items()}
    data["memories"] = [tuple(about) for about in data["memories"]]
    data["resets"] = [tuple(about) for about in data["resets"]]
    return ArcModel(**data)


def _lower(top: str, text: str) -> ArcModel:
    module = parse_hw(text)
    try:
        run_hw_passes(module, _FLATTEN)
        _refuse_leftovers(module, top)
        pack_delay_lines(module)
        _fold_resets(module)
        # Verified once, not after each of the passes: that would take a third of their time.
        run_hw_passes(module, _TO_STATE, verify=False)
        module.operation.verify()
        size, ports, registers = _layout(module)
        memories = _memories(module)
        split = split_model(module, top, ports)
        run_hw_passes(module, _TO_LLVM, verify=False)
        module.operation.verify()
    except (ir.MLIRError, ValueError) as error:
        raise BuildError(
            f"CIRCT's arc cannot simulate {top}.",
            help='use simulator="verilator".',
            notes=tuple(str(error).splitlines()[:10]),
        ) from error
    lowered = with_square_roots(_body(module.operation.get_asm(assume_verified=True)))
    initial = f"{top}_initial"
    return ArcModel(
        text=lowered,
        edge=f"{split.edge if split else top}_eval",
        resets=[(r.offset, r.bits, r.value) for r in split.resets] if split else [],
        settle=f"{top}_eval",
        initial=initial if f"@{initial}(" in lowered else "",
        size=size,
        ports=ports,
        aliases=split.aliases if split else {},
        registers=registers,
        memories=memories,
    )


def _body(text: str) -> str:
    """A module's text without its ``module { … }``."""
    start = text.index("{", text.index("module")) + 1
    return text[start : text.rindex("}")]


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
    return ir.IntegerAttr(owner.attributes["value"]).value == 0


def _model_operations(module: ir.Module) -> list[ir.OpView]:
    return list(_model(module).regions[0].blocks[0].operations)


def _model(module: ir.Module) -> ir.OpView:
    return next(op for op in module.body.operations if op.operation.name == "arc.model")


def _layout(module: ir.Module) -> tuple[int, dict[str, int], dict[str, tuple[int, int]]]:
    """Size of the state, offsets of the ports, offsets and bits of the registers."""
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
                registers[register] = (offset, int(bits[1]))
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
