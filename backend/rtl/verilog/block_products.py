"""Products with registers on all sides become multiplier blocks that hold these registers.

Yosys 0.70 takes no register into a MULT18X18D. A word then goes from a register to the block and on to the
next register in one cycle, and on ECP5 these two wires alone may take half of it, for the blocks stand in a
few rows of the device. With the registers in the block, each wire has a cycle of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from allo.backend.devices import RegisteredBlock, family

_NAME = r"%[\w$.#-]+"
_NAMES = re.compile(_NAME)
_OPERATION = re.compile(rf"^  ({_NAME}) = (\S+) ")
_PRODUCT = re.compile(rf"^  ({_NAME}) = comb\.mul ({_NAME}), ({_NAME}) : i(\d+)")
_REGISTER = re.compile(
    rf"^  ({_NAME}) = seq\.compreg(?:\.ce)? ({_NAME}), (%clk)(?:, ({_NAME}))? : i(\d+)(.*)$"
)
_CONCAT = re.compile(rf"^  {_NAME} = comb\.concat ({_NAME}), ({_NAME}) : i(\d+), i(\d+)")
_REPLICATE = re.compile(rf"^  {_NAME} = comb\.replicate ({_NAME}) : ")
_EXTRACT = re.compile(rf"^  {_NAME} = comb\.extract ({_NAME}) from (\d+) : ")
_ZERO = re.compile(rf"^  {_NAME} = hw\.constant (?:0|false)\b")


@dataclass(frozen=True, slots=True, order=True)
class BlockShape:
    """A multiplier block with its registers.

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

    def declaration(self) -> str:
        """The module as CIRCT is told of it, whose text is :mod:`.block_cells`'s."""
        enable = "in %ce : i1, " if self.gated else ""
        return (
            f"hw.module.extern @{self.module}(in %clk : !seq.clock, {enable}"
            f"in %a : i{self.a}, in %b : i{self.b}, out p : i{self.result})"
        )


@dataclass(slots=True)
class _Operand:
    """A register in front of a product: its input, bits, sign, enable, and the lines up to the product."""

    data: str
    bits: int
    signed: bool
    enable: str
    lines: set[int]


@dataclass(slots=True)
class _Module:
    """The lines of one module; where each value is defined, and how often each is named."""

    lines: Sequence[str]
    defined: dict[str, int] = field(default_factory=dict)
    named: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, lines: Sequence[str]) -> _Module:
        found = cls(lines)
        for number, line in enumerate(lines):
            if (operation := _OPERATION.match(line)) is not None:
                found.defined[operation[1]] = number
            found.named.update(_NAMES.findall(line))
        return found

    def line(self, name: str) -> str:
        """The line that defines a value; "" for an input."""
        number = self.defined.get(name)
        return "" if number is None else self.lines[number]

    def read_only_by(self, lines: set[int], result: str) -> bool:
        """Whether what these lines define, other than ``result``, is named by them alone."""
        inside: Counter[str] = Counter()
        for number in lines:
            inside.update(_NAMES.findall(self.lines[number]))
        own = {_NAMES.findall(self.lines[number])[0] for number in lines} - {result}
        return all(self.named[name] == inside[name] for name in own)


def block_products(text: str, device: str) -> tuple[str, tuple[BlockShape, ...]]:
    """A design whose products between registers are instances of blocks; the blocks, each once.

    A product is one of these where the registers of both operands and of the result have the same enable
    and no reset, and nothing else reads what lies between them. So does the text of families that need
    none of this stay as it is.
    """
    block = family(device).cells.registered
    if block is None or "comb.mul " not in text:
        return text, ()
    shapes: set[BlockShape] = set()
    made: list[str] = []
    for lines in _modules(text):
        made += _rewritten(lines, shapes, block)
    ordered = tuple(sorted(shapes))
    return "\n".join([*(shape.declaration() for shape in ordered), *made]), ordered


def _modules(text: str) -> Iterator[list[str]]:
    """The lines of a text, those of a module together."""
    lines: list[str] = []
    for line in text.split("\n"):
        if line.startswith("hw.module"):
            yield lines
            lines = []
        lines.append(line)
        if line.startswith("}"):
            yield lines
            lines = []
    yield lines


def _rewritten(lines: list[str], shapes: set[BlockShape], block: RegisteredBlock) -> list[str]:
    """The lines of a module with its blocks; their shapes are added to ``shapes``."""
    if not any("comb.mul " in line for line in lines):
        return lines
    module = _Module.of(lines)
    replaced: dict[int, str] = {}
    for number, line in enumerate(lines):
        result = _REGISTER.match(line) if "seq.compreg" in line else None
        if result is not None:
            _replace(module, number, result, replaced, shapes, block)
    return [
        new for n, line in enumerate(lines) if (new := replaced.get(n, line)) or n not in replaced
    ]


def _replace(
    module: _Module,
    number: int,
    result: re.Match[str],
    replaced: dict[int, str],
    shapes: set[BlockShape],
    block: RegisteredBlock,
) -> None:
    """Replace a register, the product in front of it, and the registers in front of that."""
    product = _PRODUCT.match(module.line(result[2]))
    if product is None or int(product[4]) > block.result_bits:
        return
    most = block.operand_bits
    operands = [_operand(module, product[k], int(product[4]), most) for k in (2, 3)]
    a, b = operands
    enable = result[4] or ""
    if a is None or b is None or {a.enable, b.enable} != {enable}:
        return
    lines = {number, module.defined[result[2]], *a.lines, *b.lines}
    if not module.read_only_by(lines, result[1]):
        return
    shape = BlockShape(a.bits, b.bits, int(product[4]), a.signed, b.signed, bool(enable))
    shapes.add(shape)
    gate = f"ce: {enable}: i1, " if enable else ""
    replaced |= dict.fromkeys(lines, "")
    replaced[number] = (
        f'  {result[1]} = hw.instance "{result[1][1:]}_block" @{shape.module}(clk: {result[3]}: !seq.clock, '
        f"{gate}a: {a.data}: i{a.bits}, b: {b.data}: i{b.bits}) -> (p: i{shape.result}){result[6]}"
    )


def _operand(module: _Module, name: str, bits: int, most: int) -> _Operand | None:
    """The register that an operand of a product is, of ``most`` bits, extended to so many or not."""
    lines, signed = set[int](), True
    extended = _CONCAT.match(module.line(name))
    if extended is not None:
        lines.add(module.defined[name])
        above, name, bits = extended[1], extended[2], int(extended[4])
        signed = not _ZERO.match(module.line(above))
        if signed and not _is_sign(module, above, name, bits, lines):
            return None
    register = _origin(module, name, bits, lines)
    found = _REGISTER.match(module.line(register))
    if found is None or int(found[5]) != bits or bits > most:
        return None
    lines.add(module.defined[register])
    return _Operand(found[2], bits, signed, found[4] or "", lines)


def _origin(module: _Module, name: str, bits: int, lines: set[int]) -> str:
    """The value whose low bits these are; ``lines`` gets those on the way."""
    while True:
        line = module.line(name)
        extract, concat = _EXTRACT.match(line), _CONCAT.match(line)
        if extract is not None and extract[2] == "0":
            following = extract[1]
        elif concat is not None and int(concat[4]) >= bits:
            lines |= _copied(module, concat[1])
            following = concat[2]
        else:
            return name
        lines.add(module.defined[name])
        name = following


def _is_sign(module: _Module, above: str, name: str, bits: int, lines: set[int]) -> bool:
    """Whether ``above`` is copies of the highest of a value's bits; ``lines`` gets those that make them."""
    copied = _copied(module, above)
    bit = _REPLICATE.match(module.line(above))
    extract = _EXTRACT.match(module.line(bit[1] if bit is not None else above))
    if extract is None or int(extract[2]) != bits - 1:
        return False
    lines |= copied
    return _origin(module, extract[1], bits, lines) == _origin(module, name, bits, lines)


def _copied(module: _Module, above: str) -> set[int]:
    """The lines that make copies of a bit."""
    found = set[int]()
    replicated = _REPLICATE.match(module.line(above))
    if replicated is not None:
        found.add(module.defined[above])
        above = replicated[1]
    if _EXTRACT.match(module.line(above)):
        found.add(module.defined[above])
    return found
