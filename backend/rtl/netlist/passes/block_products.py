"""Products with registers on all sides become multiplier blocks that hold these registers.

Yosys 0.70 takes no register into a MULT18X18D. A word then goes from a register to the block and on to the
next register in one cycle, and on ECP5 these two wires alone may take half of it, for the blocks stand in a
few rows of the device. With the registers in the block, each wire has a cycle of its own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from allo.backend.devices import DeviceRecord, RegisteredBlock

from ..blocks import BlockShape
from ..modules import Module, Netlist, Ports
from ..operations import (
    CLOCK,
    CLOCK_TYPE,
    Concat,
    Constant,
    Extract,
    Gate,
    Instance,
    Operation,
    Register,
    Replicate,
)
from .rewriting import readers_of


@dataclass(slots=True)
class _Operand:
    """A register in front of a product: its input, bits, sign, enable, and the values up to the product."""

    data: str
    bits: int
    signed: bool
    enable: str
    values: set[str]


def block_products(netlist: Netlist, record: DeviceRecord) -> Netlist:
    """A design whose products between registers are instances of blocks, which are modules of their own.

    A product is one of these where the registers of both operands and of the result have the same enable
    and no reset, and nothing else reads what lies between them.
    """
    block = record.cells.registered
    if block is None:
        return netlist
    shapes: set[BlockShape] = set()
    modules = [_Rewriter(module, block, shapes).run() for module in netlist.modules]
    return netlist.with_modules([*map(_declared, sorted(shapes)), *modules])


def _declared(shape: BlockShape) -> Module:
    """A block as CIRCT is told of it; its text is written elsewhere."""
    ports = Ports(shape.inputs(), [("p", f"i{shape.result}", "")])
    return Module(shape.module, ports, None, block=shape)


class _Rewriter:
    """Makes blocks of the products of one module, and adds their shapes to ``shapes``."""

    def __init__(self, module: Module, block: RegisteredBlock, shapes: set[BlockShape]) -> None:
        self._module = module
        self._limits = block
        self._shapes = shapes
        self._defined: dict[str, Operation] = {}
        self._readers: Counter[str] = Counter()

    def run(self) -> Module:
        """The module with its blocks."""
        body = self._module.operations
        if not any(isinstance(op, Gate) and op.name == "comb.mul" for op in body):
            return self._module
        self._defined = {op.result: op for op in body}
        self._readers = readers_of(self._module)
        gone: set[str] = set()
        blocks: dict[str, Instance] = {}
        for op in body:
            found = self._block(op) if isinstance(op, Register) and not op.resets else None
            if found is not None:
                blocks[op.result], values = found
                gone |= values - {op.result}
        if not blocks:
            return self._module
        return self._module.with_body(
            [blocks.get(op.result, op) for op in body if op.result not in gone or not op.result]
        )

    def _block(self, result: Register) -> tuple[Instance, set[str]] | None:
        """The block for a register, the product in front of it and the registers in front of that."""
        product = self._defined.get(result.operands[0])
        if not isinstance(product, Gate) or product.name != "comb.mul":
            return None
        if product.width > self._limits.result_bits:
            return None
        a, b = (self._operand(name, product.width) for name in product.operands)
        if a is None or b is None or {a.enable, b.enable} != {result.gate}:
            return None
        values = {result.result, product.result} | a.values | b.values
        if not self._read_only_by(values, result.result):
            return None
        gated = bool(result.gate)
        shape = BlockShape(a.bits, b.bits, product.width, a.signed, b.signed, gated)
        self._shapes.add(shape)
        joined = {"clk": (CLOCK, CLOCK_TYPE), "ce": (result.gate, "i1")}
        joined |= {"a": (a.data, f"i{a.bits}"), "b": (b.data, f"i{b.bits}")}
        inputs = {port: joined[port] for port, _ in shape.inputs()}
        outputs = [(result.result, "p", f"i{shape.result}")]
        made = Instance(f"{result.result[1:]}_block", shape.module, inputs, outputs)
        made.like(result)
        return made, values

    def _read_only_by(self, values: set[str], result: str) -> bool:
        """Whether these values other than ``result`` are read by what defines them alone."""
        inside = Counter(name for value in values for name in self._defined[value].operands)
        return all(self._readers[name] == inside[name] for name in values - {result})

    def _operand(self, name: str, bits: int) -> _Operand | None:
        """The register that an operand of a product is, extended to so many bits or not."""
        values, signed = set[str](), True
        extended = self._extended(name)
        if extended is not None:
            values.add(name)
            (above, name), (_, bits) = extended.operands, extended.widths
            zeros = self._defined.get(above)
            signed = not (isinstance(zeros, Constant) and zeros.value == 0)
            if signed and not self._is_sign(above, name, bits, values):
                return None
        register = self._defined.get(self._origin(name, bits, values))
        if not isinstance(register, Register) or register.resets:
            return None
        if register.width != bits or bits > self._limits.operand_bits:
            return None
        values.add(register.result)
        return _Operand(register.operands[0], bits, signed, register.gate, values)

    def _extended(self, name: str) -> Concat | None:
        """What puts bits above one value, if that is what a value is."""
        op = self._defined.get(name)
        return op if isinstance(op, Concat) and len(op.operands) == 2 else None

    def _origin(self, name: str, bits: int, values: set[str]) -> str:
        """The value whose low bits these are; ``values`` gets those on the way."""
        while True:
            op, extended = self._defined.get(name), self._extended(name)
            if isinstance(op, Extract) and op.low == 0:
                following = op.operands[0]
            elif extended is not None and extended.widths[1] >= bits:
                values |= self._copied(extended.operands[0])
                following = extended.operands[1]
            else:
                return name
            values.add(name)
            name = following

    def _is_sign(self, above: str, name: str, bits: int, values: set[str]) -> bool:
        """Whether ``above`` is copies of the highest bit of a value; ``values`` gets those that make them."""
        copied = self._copied(above)
        replicated = self._defined.get(above)
        bit = replicated.operands[0] if isinstance(replicated, Replicate) else above
        extract = self._defined.get(bit)
        if not isinstance(extract, Extract) or extract.low != bits - 1:
            return False
        values |= copied
        return self._origin(extract.operands[0], bits, values) == self._origin(name, bits, values)

    def _copied(self, above: str) -> set[str]:
        """The values that make copies of a bit."""
        found = set[str]()
        replicated = self._defined.get(above)
        if isinstance(replicated, Replicate):
            found.add(above)
            above = replicated.operands[0]
        if isinstance(self._defined.get(above), Extract):
            found.add(above)
        return found
