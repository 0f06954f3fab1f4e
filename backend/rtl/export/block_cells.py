"""Verilog of multiplier blocks with registers: the block for synthesis, what it does for simulation."""

from __future__ import annotations

from allo.backend.devices import RegisteredBlock

from ..netlist.blocks import BlockShape
from ..netlist.modules import Netlist


def block_module(shape: BlockShape, block: RegisteredBlock) -> str:
    """The module of a block with registers in front of its operands and behind its result."""
    enable = ["  input         ce,"] if shape.gated else []
    return "\n".join(
        [
            f"module {shape.module}(",
            "  input         clk,",
            *enable,
            f"  input  {_range(shape.a)} a,",
            f"  input  {_range(shape.b)} b,",
            f"  output {_range(shape.result)} p",
            ");",
            "",
            "`ifdef SYNTHESIS",
            *_cell(shape, block),
            "`else",
            *_behaviour(shape),
            "`endif",
            "endmodule",
        ]
    )


def block_modules(netlist: Netlist, block: RegisteredBlock | None) -> list[str]:
    """The modules of all blocks of a design, which a family without such a block has none of."""
    if block is None:
        return []
    shapes = (module.block for module in netlist.modules)
    return [block_module(shape, block) for shape in shapes if shape is not None]


def _range(bits: int) -> str:
    return f"[{bits - 1}:0]".ljust(6)


def _cell(shape: BlockShape, block: RegisteredBlock) -> list[str]:
    bits, result = block.operand_bits, block.result_bits
    told = {
        "clk": "clk",
        "ce": "ce" if shape.gated else "1'b1",
        "a_signed": int(shape.a_signed),
        "b_signed": int(shape.b_signed),
    }
    return [
        f"  wire [{bits - 1}:0] wide_a = {_resized('a', shape.a, bits, shape.a_signed)};",
        f"  wire [{bits - 1}:0] wide_b = {_resized('b', shape.b, bits, shape.b_signed)};",
        f"  wire [{result - 1}:0] product;",
        *(line.format(**told) for line in block.instance),
        f"  assign p = product[{shape.result - 1}:0];",
    ]


def _behaviour(shape: BlockShape) -> list[str]:
    bits = shape.result
    held = ("a_held", shape.a, shape.a_signed), ("b_held", shape.b, shape.b_signed)
    move = ["a_held <= a;", "b_held <= b;", "p_held <= wide_a * wide_b;"]
    indent = "      " if shape.gated else "    "
    return [
        f"  reg [{shape.a - 1}:0] a_held;",
        f"  reg [{shape.b - 1}:0] b_held;",
        f"  reg [{bits - 1}:0] p_held;",
        *(
            f"  wire [{bits - 1}:0] wide_{n[0]} = {_resized(n, own, bits, signed)};"
            for n, own, signed in held
        ),
        "  always_ff @(posedge clk) begin",
        *(["    if (ce) begin"] if shape.gated else []),
        *(f"{indent}{line}" for line in move),
        *(["    end"] if shape.gated else []),
        "  end",
        "  assign p = p_held;",
    ]


def _resized(name: str, own: int, bits: int, signed: bool) -> str:
    """A value of ``own`` bits with ``bits``, which are no fewer."""
    if own == bits:
        return name
    fill = f"{name}[{own - 1}]" if signed else "1'b0"
    return f"{{{{{bits - own}{{{fill}}}}}, {name}}}"
