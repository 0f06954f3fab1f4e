"""Verilog of multiplier blocks with registers: the block for synthesis, what it does for simulation."""

from __future__ import annotations

from collections.abc import Iterable

from .block_products import PORT_BITS, RESULT_BITS, BlockShape

_GROUPS = ("INPUTA", "INPUTB", "OUTPUT")


def block_module(shape: BlockShape) -> str:
    """The module of a block of ECP5 with registers in front of its operands and behind its result."""
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
            *_cell(shape),
            "`else",
            *_behaviour(shape),
            "`endif",
            "endmodule",
        ]
    )


def block_modules(shapes: Iterable[BlockShape]) -> list[str]:
    """The modules of all blocks of a design."""
    return [block_module(shape) for shape in shapes]


def _range(bits: int) -> str:
    return f"[{bits - 1}:0]".ljust(6)


def _cell(shape: BlockShape) -> list[str]:
    joined = [
        *(f".{side.upper()}{k}(wide_{side}[{k}])" for side in "ab" for k in range(PORT_BITS)),
        *(f".C{k}(1'b0)" for k in range(PORT_BITS)),
        f".SIGNEDA(1'b{int(shape.a_signed)})",
        f".SIGNEDB(1'b{int(shape.b_signed)})",
        ".SOURCEA(1'b0)",
        ".SOURCEB(1'b0)",
        ".CLK0(clk)",
        f".CE0({'ce' if shape.gated else "1'b1"})",
        ".RST0(1'b0)",
        *(f".P{k}(product[{k}])" for k in range(RESULT_BITS)),
    ]
    return [
        f"  wire [{PORT_BITS - 1}:0] wide_a = {_resized('a', shape.a, PORT_BITS, shape.a_signed)};",
        f"  wire [{PORT_BITS - 1}:0] wide_b = {_resized('b', shape.b, PORT_BITS, shape.b_signed)};",
        f"  wire [{RESULT_BITS - 1}:0] product;",
        "  MULT18X18D #(",
        ",\n".join(f'    .REG_{group}_CLK("CLK0")' for group in _GROUPS),
        "  ) block (",
        ",\n".join(f"    {', '.join(joined[k : k + 6])}" for k in range(0, len(joined), 6)),
        "  );",
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
