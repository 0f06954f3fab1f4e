"""Shared units as functions, for Verilator: each is scheduled and compiled once for all its instances.

Verilator schedules every statement of every instance apart, and 1,760 adders of 250 statements take it a
minute. So a unit becomes a function of its operands that steps a record of its registers, and its module
one register and a call. The function has the expressions of the module as they are.

Only the register of the result is assigned as other registers are. The record belongs to the one process
that steps it, so the order of processes does not matter.
"""

from __future__ import annotations

import graphlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from allo.backend.rtl.design import SharedUnit

_MODULE = r"^module {}\((?P<header>.*?)\);\n(?P<body>.*?)^endmodule$"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PORT = re.compile(r"\s*(?P<way>input|output)?\s*(?:\[(?P<high>\d+):0\])?\s*(?P<name>\w+)\s*")
_NAME = re.compile(r"(?<!['\w$])[A-Za-z_]\w*")
_STATEMENT = re.compile(
    r"\s*(?:"
    r"(?P<kind>reg|wire)\s+(?:\[(?P<high>\d+):0\]\s*)?(?P<declared>\w+)(?:\s*=(?P<value>[^;]*))?;"
    r"|assign\s+(?P<assigned>\w+)\s*=(?P<driver>[^;]*);"
    r"|always_ff @\(posedge clk\) begin\s+if \(ce\)\s+(?P<register>\w+)\s*<=(?P<next>[^;]*);\s+end\b"
    r")"
)
_LONGEST = 200_000
"""Characters of a module from which it is left as it is: C++ compilers take long for long functions."""
_WORDS = (8, 16, 32, 64)
_KEPT, _STEP, _NEXT = "kept", "step", "next_"
"""Names in the function: its record, itself, and how those of next values begin."""


class _OtherFormError(Exception):
    """A module that is not registers behind one enable, with one of them as its result."""


@dataclass(slots=True)
class _Unit:
    """What a unit's module holds: widths in bits, expressions as text."""

    module: str
    operands: dict[str, int] = field(default_factory=dict)
    output: str = ""
    result: str = ""
    """The register that the output shows."""
    registers: dict[str, int] = field(default_factory=dict)
    wires: dict[str, int] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    """Of wires, of the output, and the next ones of registers."""

    def kept(self) -> dict[str, int]:
        """The registers of the record: all but that of the result."""
        return {name: width for name, width in self.registers.items() if name != self.result}

    def reads(self) -> dict[str, set[str]]:
        """What the value of each wire reads, and the next one of each register."""
        return {name: set(_NAME.findall(value)) for name, value in self.values.items()}


def units_as_functions(
    verilog: str, units: Iterable[SharedUnit]
) -> tuple[str, tuple[SharedUnit, ...]]:
    """The Verilog with the modules of units as functions; and the units that have another form.

    Args:
        verilog: a design, in one text.
        units: the modules that many instances share.
    """
    left = []
    for shared in units:
        name = re.escape(shared.module)
        found = re.search(_MODULE.format(name), verilog, re.DOTALL | re.MULTILINE)
        if found is None or len(found[0]) > _LONGEST:
            left.append(shared)
            continue
        try:
            text = _written(_read(shared.module, found["header"], found["body"]))
        except (_OtherFormError, graphlib.CycleError):
            left.append(shared)
            continue
        verilog = verilog[: found.start()] + text + verilog[found.end() :]
    return verilog, tuple(left)


def _width(high: str | None) -> int:
    return 1 if high is None else int(high) + 1


def _read(module: str, header: str, body: str) -> _Unit:
    unit = _Unit(module)
    _read_ports(unit, _COMMENT.sub("", header))
    text, at = _COMMENT.sub("", body).rstrip(), 0
    while at < len(text):
        found = _STATEMENT.match(text, at)
        if found is None:
            raise _OtherFormError
        _read_statement(unit, found)
        at = found.end()
    _check(unit)
    return unit


def _read_ports(unit: _Unit, header: str) -> None:
    way, width, outputs = "", 1, []
    for text in header.split(","):
        found = _PORT.fullmatch(text)
        if found is None:
            raise _OtherFormError
        if found["way"] or found["high"]:
            way, width = found["way"] or way, _width(found["high"])
        if way == "output":
            outputs.append(found["name"])
        elif found["name"] not in ("clk", "ce"):
            unit.operands[found["name"]] = width
    if len(outputs) != 1:
        raise _OtherFormError
    unit.output = outputs[0]


def _read_statement(unit: _Unit, found: re.Match[str]) -> None:
    if declared := found["declared"]:
        names = unit.registers if found["kind"] == "reg" else unit.wires
        names[declared] = _width(found["high"])
        if found["value"]:
            unit.values[declared] = " ".join(found["value"].split())
        return
    target = found["assigned"] or found["register"]
    if target in unit.values or (found["register"] and target not in unit.registers):
        raise _OtherFormError
    unit.values[target] = " ".join((found["driver"] or found["next"]).split())


def _check(unit: _Unit) -> None:
    """The output is a register that nothing else reads, and every name is known and has one value."""
    unit.result = unit.values.pop(unit.output, "")
    known = unit.operands | unit.registers | unit.wires
    read = set().union(*unit.reads().values())
    if (
        unit.result not in unit.registers
        or unit.values.keys() != (unit.registers | unit.wires).keys()
        or not read <= known.keys() - {unit.result}
        or any(name in (_KEPT, _STEP) or name.startswith(_NEXT) for name in known)
    ):
        raise _OtherFormError


class _Steps:
    """The statements of a unit's function: from the last registers to the first.

    A register is assigned when all that read it have been, so its old value is read from its place.

    Attributes:
        statements: what is written so far.
        fields: of the record: few arrays, as each is a loop in the first contents of each instance.
    """

    def __init__(self, unit: _Unit) -> None:
        self._unit = unit
        self._reads = unit.reads()
        self._known = set(unit.operands)
        wires = {wire: self._reads[wire] & unit.wires.keys() for wire in unit.wires}
        self._order = [*graphlib.TopologicalSorter(wires).static_order()]
        self._rank = {name: rank for rank, name in enumerate([*unit.registers, *self._order])}
        self._places, sizes = {unit.result: _STEP}, dict[int, int]()
        for name, width in unit.kept().items():
            word = _word(width)
            self._places[name] = f"{_KEPT}.of{word}[{sizes.setdefault(word, 0)}]"
            sizes[word] += 1
        self.fields = [f"{_logic(width, f'of{width}')}[{size}];" for width, size in sizes.items()]
        self.statements: list[str] = []

    def write(self) -> None:
        """Every register's next value; where registers go round, these are known before one is assigned."""
        readers = self._readers()
        while readers:
            free = [name for name, others in readers.items() if others.isdisjoint(readers)]
            for name in free or readers:
                self._compute(name)
                self.statements.append(f"{_NEXT}{name} = {self._unit.values[name]};")
            self.statements += [
                f"{self._places[name]} = {_NEXT}{name};" for name in free or readers
            ]
            for name in free or list(readers):
                del readers[name]

    def _readers(self) -> dict[str, set[str]]:
        """For each register, the others whose next value depends on it."""
        registers = self._unit.registers
        reached: dict[str, set[str]] = {name: {name} for name in registers}
        readers: dict[str, set[str]] = {name: set() for name in registers}
        for wire in self._order:
            sources = (reached[name] for name in self._reads[wire] if name in reached)
            reached[wire] = set().union(*sources)
        for name in registers:
            for read in self._reads[name] & reached.keys():
                for source in reached[read] - {name}:
                    readers[source].add(name)
        return readers

    def _compute(self, name: str) -> None:
        """Read the registers and compute the wires that a register's next value needs."""
        needed, left = set(), self._reads[name] - self._known
        while left:
            source = left.pop()
            needed.add(source)
            if source in self._unit.wires:
                left |= self._reads[source] - self._known - needed
        self._known |= needed
        for source in sorted(needed, key=self._rank.__getitem__):
            value = self._places.get(source) or self._unit.values[source]
            self.statements.append(f"{source} = {value};")


def _word(width: int) -> int:
    """The width of the words in which registers are kept: one bit, those of C++, or their own."""
    return 1 if width == 1 else next((word for word in _WORDS if word >= width), width)


def _logic(width: int, name: str) -> str:
    return f"logic [{width - 1}:0] {name}"


def _written(unit: _Unit) -> str:
    """A package with the record and the function, and the module that calls it."""
    steps = _Steps(unit)
    steps.write()
    locals_ = {**unit.kept(), **unit.wires}
    locals_ |= {_NEXT + name: width for name, width in unit.registers.items()}
    used = {name for text in steps.statements for name in _NAME.findall(text)}
    body = [f"{_logic(width, name)};" for name, width in locals_.items() if name in used]
    inputs = [f"input {_logic(bits, name)}" for name, bits in unit.operands.items()]
    package, record, kept = f"{unit.module}_unit", "", bool(unit.kept())
    if kept:
        record = f"  typedef struct {{\n{_lines(steps.fields)}  }} kept_t;\n"
    declared = f"  {package}::kept_t {_KEPT};\n" if kept else ""
    width = unit.registers[unit.result]
    return (
        f"package {package};\n{record}"
        f"  function automatic {_logic(width, _STEP)}("
        f"{', '.join([f'ref kept_t {_KEPT}'] * kept + inputs)});\n"
        f"    /*verilator no_inline_task*/\n{_lines([*body, *steps.statements])}"
        f"  endfunction\nendpackage\n\n"
        f"module {unit.module}(input clk, input ce, {', '.join(inputs)}, "
        f"output reg [{width - 1}:0] {unit.output});\n{declared}"
        f"  always_ff @(posedge clk) if (ce) {unit.output} <= {package}::{_STEP}("
        f"{', '.join([_KEPT] * kept + [*unit.operands])});\nendmodule"
    )


def _lines(statements: Iterable[str]) -> str:
    return "".join(f"    {statement}\n" for statement in statements)
