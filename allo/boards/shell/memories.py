"""The memory of one bank, shared by the core and the host.

The host comes only while the core rests. What it writes goes through a port of the core that writes, because
a block RAM takes one write in a cycle; the word it reads comes through a port that reads.

Where the core writes through two ports, each port has a RAM of its own, and a bit for every word says which
one wrote it last: no family here has a block RAM for two writes that Yosys finds.
"""

from __future__ import annotations

from .banks import Bank

_CLOCKED = "  always @(posedge link_clock) if"


def memory(bank: Bank, here: str, taken: str) -> list[str]:
    """The lines of a bank whose word for the host is ``bank_<name>``.

    Args:
        here: whether the host writes a word of this bank.
        taken: that word.
    """
    name = bank.name
    writers = [p for p in bank.ports if p.writes]
    readers = [p for p in bank.ports if p.reads]
    bits = max([p.addr_width for p in bank.ports], default=1)
    word = f"word[{bits - 1}:0]"
    shape = f"[{bank.width - 1}:0]"
    # Each write: condition, address, word. The host shares the first.
    writes = []
    for k, port in enumerate(writers):
        core = f"core_{port.prefix}"
        if k == 0 and bank.written:
            writes.append(
                (f"running ? {core}_en && {core}_we : {here}",
                 f"running ? {core}_addr : {word}", f"running ? {core}_wdata : {taken}")
            )  # fmt: skip
        else:
            writes.append((f"running && {core}_en && {core}_we", f"{core}_addr", f"{core}_wdata"))
    if not writers and bank.written:
        writes.append((here, word, taken))
    # Each read: the enable, the address, where the word goes, and how many cycles later.
    latency = bank.array.read_latency if bank.array else 1
    reads = []
    for k, port in enumerate(readers):
        core = f"core_{port.prefix}"
        shared = k == 0 and bank.read
        enable = f"!running || {core}_en" if shared else f"{core}_en"
        reads.append(
            (enable, f"running ? {core}_addr : {word}" if shared else f"{core}_addr", core)
        )
    if bank.read and not readers:
        reads.append(("1'b1", word, ""))
    lines = [f"  // {bank.source}, bank {bank.number}: {bank.depth} words of {bank.width} bits"]
    for k, (enable, address, value) in enumerate(writes):
        lines += [
            f"  wire {name}_we{k} = {enable};",
            f"  wire [{bits - 1}:0] {name}_wa{k} = {address};",
            f"  wire {shape} {name}_wd{k} = {value};",
        ]
    for k in range(max(1, len(writes))):
        lines.append(f"  reg {shape} {name}_ram{k} [0:{bank.depth - 1}];")
        if k < len(writes):
            lines.append(f"{_CLOCKED} ({name}_we{k}) {name}_ram{k}[{name}_wa{k}] <= {name}_wd{k};")
    two = len(writes) > 1
    if two:
        lines += [
            f"  reg [{bank.depth - 1}:0] {name}_second;",
            "  always @(posedge link_clock) begin",
            f"    if ({name}_we0) {name}_second[{name}_wa0] <= 1'b0;",
            f"    if ({name}_we1) {name}_second[{name}_wa1] <= 1'b1;",
            "  end",
        ]
    for k, (enable, address, core) in enumerate(reads):
        lines += [
            f"  wire {name}_re{k} = {enable};",
            f"  wire [{bits - 1}:0] {name}_ra{k} = {address};",
        ]
        for ram in range(2 if two else 1):
            lines += [
                f"  reg {shape} {name}_q{k}_{ram};",
                f"{_CLOCKED} ({name}_re{k}) {name}_q{k}_{ram} <= {name}_ram{ram}[{name}_ra{k}];",
            ]
        got = f"{name}_q{k}_0"
        if two:
            lines += [
                f"  reg {name}_last{k};",
                f"{_CLOCKED} ({name}_re{k}) {name}_last{k} <= {name}_second[{name}_ra{k}];",
            ]
            got = f"({name}_last{k} ? {name}_q{k}_1 : {name}_q{k}_0)"
        for stage in range(1, latency):
            lines += [
                f"  reg {shape} {name}_d{k}_{stage};",
                f"  always @(posedge link_clock) {name}_d{k}_{stage} <= {got};",
            ]
            got = f"{name}_d{k}_{stage}"
        if core:
            lines.append(f"  assign {core}_rdata = {got};")
        if k == 0 and bank.read:
            lines.append(f"  wire {shape} bank_{name} = {got};")
    return lines
