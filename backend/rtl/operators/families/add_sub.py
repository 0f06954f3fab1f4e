"""Integer addition and subtraction; wide ones carry from stage to stage.

With a third operand of one bit, ``arith.addi`` is both: this operand says that the second one is subtracted.
"""

from __future__ import annotations

from functools import partial

from ..netlist import Signal, cat
from ..request import Builder, Drawing, Request, fitted
from ..spec import Operator


def segmented_add(left: Signal, right: Signal, carry: Signal, segment: int) -> Signal:
    """``left + right + carry`` in pieces of ``segment`` bits, each carrying into the next."""
    pieces: list[Signal] = []
    for low in range(0, left.width, segment):
        width = min(segment, left.width - low)
        a = cat(left.net.const(0, 1), left.bits(low, width), left.net.const(1, 1))
        b = cat(left.net.const(0, 1), right.bits(low, width), carry)
        total = (a + b).bits(1, width + 1)
        pieces.insert(0, total.bits(0, width))
        carry = total.bit(-1)
    return cat(*pieces)


def segment_bits(request: Request) -> int:
    """Bits of a carry chain that fill two thirds of a stage."""
    device = request.device
    return max(16, int((0.66 * request.budget_ns - device.carry_ns) / device.carry_bit_ns))


def _build(request: Request) -> Operator:
    width, segment = request.result_width, segment_bits(request)
    if len(request.operand_types) == 3:
        return fitted(request, Drawing(f"addsub_i{width}", partial(_either, segment=segment)))
    name = "add" if request.op == "arith.addi" else "sub"

    def draw(a: Signal, b: Signal) -> Signal:
        if width <= segment:
            return a + b if name == "add" else a - b
        if name == "add":
            return segmented_add(a, b, a.net.const(0, 1), segment)
        return segmented_add(a, ~b, a.net.const(1, 1), segment)

    return fitted(request, Drawing(f"{name}_i{width}", draw))


def _either(a: Signal, b: Signal, minus: Signal, segment: int) -> Signal:
    """``a - b`` where the third operand is 1, else ``a + b``."""
    return segmented_add(a, b ^ minus.repeat(b.width), minus, segment)


OPERATORS: dict[str, Builder] = {"arith.addi": _build, "arith.subi": _build}
