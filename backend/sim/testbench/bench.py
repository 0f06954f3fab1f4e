"""The text of a test bench: clock and reset, memories and streams around the design, and the checks.

Cycles are counted as everywhere in Allo: from the cycle of ``start`` to that of ``done``. A memory answers
a cycle after the address; a read sees the word before a write of the same cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from allo.backend.rtl.design import ArrayInterface, BankPort, HardwareDesign, StreamInterface
from allo.backend.sim.driver.ports import top_ports

from .vectors import Vectors, bank_words, stream_words

SHOWN = 10
"""Differences that a test bench prints of one memory or stream."""
_RESET_CYCLES = 3
_PATIENCE = 1000
"""Cycles beyond twice the recorded ones after which a run is given up."""


@dataclass(slots=True)
class Bench:
    """A test bench: its name, its text, and the words of its memories, by file."""

    name: str
    text: str = ""
    data: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Parts:
    """What the parts of a test bench are made of, in the order in which they stand in it."""

    state: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    starts: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)


class BenchWriter:
    """Writes the test bench of one design for the vectors of one call."""

    def __init__(self, design: HardwareDesign, vectors: Vectors) -> None:
        self._design = design
        self._vectors = vectors
        self._ports = top_ports(design)
        self._taken = {port.name for port in self._ports}
        self._taken |= {"cycles", "errors", "k", "running", design.top}
        self._parts = _Parts()
        self._checked = 0
        self.bench = Bench(self._free(f"{design.top}_tb"))

    def write(self) -> Bench:
        """The test bench; its data lie in files beside it."""
        for array in self._design.arrays:
            self._array(array)
        for stream in self._design.streams:
            self._stream(stream)
        self._scalars()
        self.bench.text = "\n".join(self._lines()) + "\n"
        return self.bench

    def _free(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    # --- the whole -------------------------------------------------------------------

    def _lines(self) -> list[str]:
        top, parts = self._design.top, self._parts
        limit = 2 * self._vectors.cycles + _PATIENCE
        recorded = self._vectors.cycles
        counted = any("for (k" in line for line in (*parts.loads, *parts.checks))
        return [
            f"// Test bench of {top}: one recorded call. It prints PASS and the cycles, or ends with $fatal.",
            "",
            f"module {self.bench.name};",
            *self._declared(),
            "  integer errors;",
            "  integer cycles;",
            *(["  integer k;"] if counted else []),
            *(["  reg running;  // from the cycle after start on"] if self._design.streams else []),
            "",
            "  always #5 clk = ~clk;",
            "",
            f"  {top} dut (",
            ",\n".join(f"    .{port.name}({port.name})" for port in self._ports),
            "  );",
            *parts.state,
            "",
            "  initial begin",
            *(f"    {name} = {value};" for name, value in self._driven().items()),
            "    errors = 0;",
            *(["    running = 1'b0;"] if self._design.streams else []),
            *parts.loads,
            "    // What the design is given changes when the clock falls; it reads it when the clock rises.",
            f"    repeat ({_RESET_CYCLES}) @(negedge clk);",
            "    rst = 1'b0;",
            "    @(negedge clk);",
            "    start = 1'b1;",
            *parts.starts,
            "    @(negedge clk);",
            "    start = 1'b0;",
            *(["    running = 1'b1;"] if self._design.streams else []),
            "    cycles = 1;",
            "    #1;",
            "    while (done !== 1'b1) begin",
            f'      if (cycles == {limit}) $fatal(1, "FAIL: done has not come after {limit} cycles");',
            "      @(negedge clk);",
            "      cycles = cycles + 1;",
            "      #1;",
            "    end",
            *self._returned(),
            "    @(negedge clk);  // writes of the last cycle are in the memories now",
            f"    if (cycles != {recorded}) begin",
            f'      $display("FAIL: %0d cycles, and {recorded} when the call was recorded", cycles);',
            "      errors = errors + 1;",
            "    end",
            *parts.checks,
            f'    if (errors != 0) $fatal(1, "FAIL: %0d differences in {self._checked} words", errors);',
            f'    $display("PASS: %0d cycles, {self._checked} words compared", cycles);',
            "    $finish;",
            "  end",
            "endmodule",
        ]

    def _driven(self) -> dict[str, str]:
        """What the test bench's one process gives the design, with the first values."""
        found = {"clk": "1'b0", "rst": "1'b1", "start": "1'b0"}
        found |= {s.name: _literal(0, s.width) for s in self._design.scalars_in}
        for array in self._design.arrays:
            found |= {f"{port.prefix}_ready": "1'b1" for port in array.ports if port.waits}
        return found

    def _declared(self) -> list[str]:
        held = set(self._driven())
        held |= {f"{p.prefix}_rdata" for array in self._design.arrays for p in array.ports}
        for stream in self._design.streams:
            kept = ("valid", "data") if stream.direction == "in" else ("ready",)
            held |= {f"{stream.name}_{suffix}" for suffix in kept}
        return [
            f"  {'reg' if p.name in held else 'wire'} {_range(p.width)}{p.name};"
            for p in self._ports
        ]

    # --- scalars ---------------------------------------------------------------------

    def _scalars(self) -> None:
        for scalar in self._design.scalars_in:
            value = self._vectors.scalars[scalar.name]
            self._parts.starts.append(f"    {scalar.name} = {_literal(value, scalar.width)};")

    def _returned(self) -> list[str]:
        """The checks of scalar results, which are valid in the cycle of done."""
        lines = []
        for scalar in self._design.scalars_out:
            self._checked += 1
            value = self._vectors.returned[scalar.name] & (1 << scalar.width) - 1
            expected = _literal(value, scalar.width)
            lines += [
                f"    if ({scalar.name} !== {expected}) begin",
                f'      $display("FAIL: {scalar.name} is %h, expected %h", {scalar.name}, {expected});',
                "      errors = errors + 1;",
                "    end",
            ]
        return lines

    # --- arrays ----------------------------------------------------------------------

    def _array(self, array: ArrayInterface) -> None:
        before = bank_words(array, self._vectors.before[array.name])
        after = bank_words(array, self._vectors.after[array.name])
        for bank in range(array.layout.bank_count):
            ports = [port for port in array.ports if port.bank == bank]
            if not ports:
                continue
            memory = self._free(f"{array.name}_bank{bank}")
            what = array.name if array.layout.bank_count == 1 else f"{array.name}, bank {bank}"
            self._memory(memory, what, array, ports, before[bank])
            if any(port.writes for port in ports):
                size = _size(ports)
                self._check(memory, what, array.width, size, after[bank])

    def _memory(
        self,
        memory: str,
        what: str,
        array: ArrayInterface,
        ports: Sequence[BankPort],
        words: list[int],
    ) -> None:
        size = _size(ports)
        self._parts.state += ["", f"  // {what}: {len(words)} words"]
        self._parts.state.append(f"  reg {_range(array.width)}{memory} [0:{size - 1}];")
        for port in ports:
            if port.reads:
                self._parts.state += self._delayed(port, array)
        self._parts.state.append("  always @(posedge clk) begin")
        for port in ports:
            taken = (
                f"{port.prefix}_en && {port.prefix}_ready" if port.waits else f"{port.prefix}_en"
            )
            word = f"{memory}[{port.prefix}_addr]"
            if port.writes:
                self._parts.state.append(
                    f"    if ({taken} && {port.prefix}_we) {word} <= {port.prefix}_wdata;"
                )
            if port.reads:
                self._parts.state.append(f"    if ({taken}) {self._first(port, array)} <= {word};")
        self._parts.state.append("  end")
        if size > len(words):
            self._parts.loads.append(
                f"    for (k = {len(words)}; k < {size}; k = k + 1) {memory}{_at('k', size)} = "
                f"{_literal(0, array.width)};"
            )
        self._load(memory, words, array.width)

    def _first(self, port: BankPort, array: ArrayInterface) -> str:
        """What takes the word that a read finds."""
        rdata = f"{port.prefix}_rdata"
        return rdata if array.read_latency == 1 else f"{rdata}_1"

    def _delayed(self, port: BankPort, array: ArrayInterface) -> list[str]:
        """The further stages of a memory that answers late."""
        rdata = f"{port.prefix}_rdata"
        stages = [f"{rdata}_{k}" for k in range(1, array.read_latency)]
        lines = [f"  reg {_range(array.width)}{stage};" for stage in stages]
        for stage, following in zip(stages, [*stages[1:], rdata], strict=False):
            lines.append(f"  always @(posedge clk) {following} <= {stage};")
        return lines

    def _load(self, memory: str, words: list[int], width: int) -> None:
        file = f"{memory}.hex"
        self.bench.data[file] = _hex(words, width)
        self._parts.loads.append(f'    $readmemh("{file}", {memory}, 0, {len(words) - 1});')

    def _check(self, memory: str, what: str, width: int, size: int, words: list[int]) -> None:
        expected = self._free(f"{memory}_expected")
        self._parts.state.append(f"  reg {_range(width)}{expected} [0:{len(words) - 1}];")
        self._load(expected, words, width)
        self._checked += len(words)
        self._parts.checks += [
            f"    for (k = 0; k < {len(words)}; k = k + 1) begin",
            f"      if ({memory}{_at('k', size)} !== {expected}{_at('k', len(words))}) begin",
            f"        if (errors < {SHOWN})",
            f'          $display("FAIL: {what}, word %0d is %h, expected %h", k, '
            f"{memory}{_at('k', size)}, {expected}{_at('k', len(words))});",
            "        errors = errors + 1;",
            "      end",
            "    end",
        ]

    # --- streams ---------------------------------------------------------------------

    def _stream(self, stream: StreamInterface) -> None:
        words = stream_words(stream, self._vectors.words[stream.name])
        kept = self._free(f"{stream.name}_words")
        at = self._free(f"{stream.name}_at")
        self._parts.state += [
            "",
            f"  // {stream.name}: {len(words)} words {'to feed' if stream.direction == 'in' else 'to come'}",
            f"  reg {_range(stream.width)}{kept} [0:{max(len(words), 1) - 1}];",
            f"  reg [31:0] {at};",
        ]
        self._load(kept, words or [0], stream.width)
        (self._feed if stream.direction == "in" else self._drain)(stream, kept, at, len(words))

    def _feed(self, stream: StreamInterface, kept: str, at: str, count: int) -> None:
        """Offer a word until it is taken."""
        name = stream.name
        following = self._free(f"{name}_next")
        self._parts.state += [
            f"  wire [31:0] {following} = {at} + {{31'h0, {name}_valid & {name}_ready}};",
            "  always @(posedge clk)",
            "    if (rst) begin",
            f"      {at} <= 32'h0;",
            f"      {name}_valid <= 1'b0;",
            f"      {name}_data <= {_literal(0, stream.width)};",
            "    end else if (start || running) begin",
            f"      {at} <= {following};",
            f"      {name}_valid <= {following} < {count};",
            f"      if ({following} < {count}) {name}_data <= {kept}{_at(following, count)};",
            "    end",
        ]

    def _drain(self, stream: StreamInterface, kept: str, at: str, count: int) -> None:
        """Take every word, and compare it."""
        name = stream.name
        self._checked += count
        wrong = self._free(f"{name}_wrong")
        expected = f"{kept}{_at(at, count)}"
        self._parts.state += [
            f"  reg [31:0] {wrong};",
            "  always @(posedge clk)",
            "    if (rst) begin",
            f"      {at} <= 32'h0;",
            f"      {wrong} <= 32'h0;",
            f"      {name}_ready <= 1'b0;",
            "    end else begin",
            f"      if (start || running) {name}_ready <= 1'b1;",
            f"      if ({name}_valid && {name}_ready) begin",
            f"        {at} <= {at} + 32'h1;",
            f"        if ({at} >= {count} || {name}_data !== {expected}) begin",
            f"          {wrong} <= {wrong} + 32'h1;",
            f"          if ({wrong} < {SHOWN})",
            f'            $display("FAIL: {name}, word %0d is %h, expected %h", {at}, {name}_data, '
            f"{expected});",
            "        end",
            "      end",
            "    end",
        ]
        self._parts.checks += [
            f"    errors = errors + {wrong};",
            f"    if ({at} != {count}) begin",
            f'      $display("FAIL: {name}: %0d words came, expected {count}", {at});',
            "      errors = errors + 1;",
            "    end",
        ]


def _size(ports: Sequence[BankPort]) -> int:
    """Words of a memory that has one for every address."""
    return 1 << max(port.addr_width for port in ports)


def _at(index: str, words: int) -> str:
    """The bits of an index that a memory takes."""
    bits = max(1, (words - 1).bit_length())
    return f"[{index}[{bits - 1}:0]]"


def _range(width: int) -> str:
    return f"[{width - 1}:0] " if width > 1 else ""


def _literal(value: int, width: int) -> str:
    return f"{width}'h{value:x}"


def _hex(words: Sequence[int], width: int) -> str:
    digits = -(-width // 4)
    return "".join(f"{word:0{digits}x}\n" for word in words)
