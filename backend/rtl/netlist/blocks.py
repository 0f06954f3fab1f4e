"""Multiplier blocks with registers, which are modules of their own."""

from __future__ import annotations

from dataclasses import dataclass

from .operations import CLOCK_TYPE


@dataclass(frozen=True, slots=True, order=True)
class BlockShape:
    """A multiplier block with registers in front of its operands and behind its result.

    Attributes:
        a, b: bits of the operands, with their sign where ``a_signed`` and ``b_signed`` say so.
        result: low bits of the product that are wanted.
        gated: whether the registers have an enable.
    """

    a: int
    b: int
    result: int
    a_signed: bool
    b_signed: bool
    gated: bool

    @property
    def module(self) -> str:
        """The name of the module that is such a block."""
        sides = f"{'us'[self.a_signed]}{self.a}_{'us'[self.b_signed]}{self.b}"
        return f"product_{sides}_{self.result}{'_ce' if self.gated else ''}"

    def inputs(self) -> list[tuple[str, str]]:
        """Its inputs by name and type."""
        enable = [("ce", "i1")] if self.gated else []
        return [("clk", CLOCK_TYPE), *enable, ("a", f"i{self.a}"), ("b", f"i{self.b}")]
