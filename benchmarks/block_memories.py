"""A design with its array arguments in block RAM, so that routing sees the paths to and from memories."""

from __future__ import annotations

from allo.backend.rtl.design import ArrayInterface, BankPort, HardwareDesign

TOP = "with_memories"


def with_memories(design: HardwareDesign) -> str:
    """The Verilog of a design inside a module ``with_memories`` that holds a block RAM a bank.

    The outside writes the words that the design reads, and reads those that it writes, through the other
    port of each block. Where the design has both ports, the outside sees what it reads, a cycle later:
    nobody would need a word of it otherwise, and synthesis leaves out what computes such words.
    """
    ports, body = ["input clk", "input rst", "input start", "output done"], []
    joined = [f".{name}({name})" for name in ("clk", "rst", "start", "done")]
    for scalar in (*design.scalars_in, *design.scalars_out):
        way = "input" if scalar in design.scalars_in else "output"
        ports.append(f"{way} [{scalar.width - 1}:0] {scalar.name}")
        joined.append(f".{scalar.name}({scalar.name})")
    for array in design.arrays:
        for bank in sorted({port.bank for port in array.ports}):
            users = [port for port in array.ports if port.bank == bank]
            outside, text = _bank(array, users)
            ports += outside
            body += text
            joined += [f".{name}({name})" for port in users for name in _wires(port)]
    head = f"module {TOP}({', '.join(ports)});"
    core = f"  {design.top} core({', '.join(joined)});"
    return "\n".join([design.verilog, head, *body, core, "endmodule", ""])


def _wires(port: BankPort) -> list[str]:
    names = ["addr", "en"]
    names += ["rdata"] if port.reads else []
    names += ["we", "wdata"] if port.writes else []
    return [f"{port.prefix}_{name}" for name in names]


def _bank(array: ArrayInterface, users: list[BankPort]) -> tuple[list[str], list[str]]:
    """The ports of a bank to the outside, and its memory."""
    stem, word = users[0].prefix, f"[{array.width - 1}:0]"
    address = f"[{users[0].addr_width - 1}:0]"
    memory = f"{stem}_words"
    text = [
        f'  (* ram_style = "block", no_rw_check *) reg {word} {memory} [0:{(1 << users[0].addr_width) - 1}];'
    ]
    for port in users:
        wide = {"addr": address + " ", "rdata": word + " ", "wdata": word + " "}
        text += [
            f"  {'reg' if name.endswith('rdata') else 'wire'} {wide.get(name.rpartition('_')[2], '')}{name};"
            for name in _wires(port)
        ]
        text += _access(memory, port.prefix, port.reads, port.writes)
    if len(users) > 1:
        seen = [port.prefix for port in users if port.reads]
        text += [f"  always @(posedge clk) {name}_seen <= {name}_rdata;" for name in seen]
        return [f"output reg {word} {name}_seen" for name in seen], text
    writes = users[0].reads and not users[0].writes
    outside = [f"input {address} {stem}_out_addr", f"input {stem}_out_en"]
    if writes:
        outside += [f"input {stem}_out_we", f"input {word} {stem}_out_wdata"]
    else:
        outside.append(f"output reg {word} {stem}_out_rdata")
    text += _access(memory, f"{stem}_out", not writes, writes)
    return outside, text


def _access(memory: str, stem: str, reads: bool, writes: bool) -> list[str]:
    """One port of a memory; a read sees the word from before a write of the same cycle."""
    write = f"if ({stem}_we) {memory}[{stem}_addr] <= {stem}_wdata; " if writes else ""
    read = f"{stem}_rdata <= {memory}[{stem}_addr]; " if reads else ""
    return [f"  always @(posedge clk) if ({stem}_en) begin {write}{read}end"]
