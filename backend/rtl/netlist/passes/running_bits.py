"""Whether a loop that waits for streams runs is a register, not a table behind two of them.

The bit that a loop's first iteration may go, and the one that another follows, are registers; the steps
that wait for words and places begin with either of them. On ECP5 the registers can lie far from these
steps, beside the counter of the loop, and one path then goes there and back in a cycle. A register that
holds the same as the table gives, in the same cycle, can lie at the steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from allo.backend.devices import DeviceRecord

from ..modules import Netlist
from ..operations import Gate, Mux, Operation, Register
from .rewriting import each_body

_WAITS = re.compile(r"%\w+_b\d+(?:_\d+)?_passed")
"""Of a stream operation in front of a loop or in a step: that it has passed, and others have not."""


def running_bits(netlist: Netlist, _: DeviceRecord) -> Netlist:
    """A design in which such a bit is a register."""
    return each_body(netlist, _waits, lambda body: list(_rewritten(body)))


def _waits(op: Operation) -> bool:
    """Whether an operation says that a stream operation has passed."""
    return isinstance(op, Register) and not op.gated and _WAITS.fullmatch(op.result) is not None


def _rewritten(body: list[Operation]) -> Iterator[Operation]:
    registers = {
        op.result: op for op in body if isinstance(op, Register) and op.resets and op.width == 1
    }
    for op in body:
        sides = _sides(op, registers)
        if sides is None:
            yield op
            continue
        name, following = op.result[1:], []
        for letter, register in zip("ab", sides, strict=True):
            value = register.operands[0]
            if register.gated:
                taken, value = value, f"%{letter}.{name}"
                yield Mux(value, (register.gate, taken, register.result), 1).like(op)
            following.append(value)
        yield Gate("comb.or", f"%n.{name}", tuple(following), 1).like(op)
        yield Register(op.result, f"%n.{name}", 1, reset=sides[0].reset).like(op)


def _sides(op: Operation, registers: Mapping[str, Register]) -> tuple[Register, Register] | None:
    """The two registers of equal reset that an operation takes either of."""
    if not isinstance(op, Gate) or op.name != "comb.or" or op.width != 1 or len(op.operands) != 2:
        return None
    a, b = (registers.get(operand) for operand in op.operands)
    return (a, b) if a is not None and b is not None and a.reset == b.reset else None
