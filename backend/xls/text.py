"""The text around the kernel's function: a plain top, or a block with channels or memories."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from allo.backend.hls.vendors.ports import Port
from allo.backend.hls.vendors.tables import XLS
from allo.dialects.memories import kinds_of

from .check import XLSValidationError

PRELUDE = """template <typename T> static inline T min(T a, T b) { return b < a ? b : a; }
template <typename T> static inline T max(T a, T b) { return a < b ? b : a; }
"""
FIXED = """// Fixed point as the integer behind it: WHOLE of WIDTH bits lie before the point.
template <int WIDTH, int WHOLE, bool SIGNED> struct Fixed {
  XlsInt<WIDTH, SIGNED> bits;
};
"""
_RAM_KINDS = {"": "RAM_1R1W", "RAM_2P": "RAM_1R1W", "RAM_1P": "RAM_1RW", "ROM_1P": "RAM_1RW"}
_PORTS = {
    "RAM_1RW": (("abstract_read_req", "_req"), ("abstract_read_resp", "_resp"))
    + (("abstract_write_req", "_req"), ("write_completion", "_write_completion")),
    "RAM_1R1W": (
        ("abstract_read_req", "_read_request"),
        ("abstract_read_resp", "_read_response"),
        ("abstract_write_req", "_write_request"),
        ("write_completion", "_write_response"),
    ),
}


@dataclass(frozen=True, slots=True)
class BlockPort:
    """A port of the block.

    Attributes:
        type: C++ type of an element.
        shape: extents, None for a scalar.
        read, written: whether values come in and go out.
        storage: the storage type the schedule chose, "" for none.
    """

    name: str
    type: str
    shape: tuple[int, ...] | None
    read: bool
    written: bool
    storage: str = ""

    @property
    def count(self) -> int:
        """The number of elements; 1 for a scalar."""
        return prod(self.shape or (1,))

    @property
    def out_name(self) -> str:
        """The name of the channel for values that leave the block."""
        return f"{self.name}_out" if self.read else self.name

    @property
    def dims(self) -> str:
        """The extents as C++ writes them behind a name; an empty text for a scalar."""
        return "" if self.shape is None else "".join(f"[{n}]" for n in self.shape or (1,))


def block_port(port: Port, name: str) -> BlockPort:
    """A port of the kernel as the block has it."""
    param = port.param
    out = port.is_output and (param.is_array or param.role == "result")
    reads = param.role == "in" and (port.access != "out" or not param.is_array)
    space = param.memref.memory_space if param.memref is not None else None
    storage = kinds_of(int(space.value))[1] if space is not None else None
    return BlockPort(name, XLS.spell(param.ctype), param.shape, reads, out, storage or "")


def plain_top(top: str, body: str, ports: list[BlockPort]) -> str:
    """A top of scalars: a function that returns its result, or leaves several in references."""
    inputs = [p for p in ports if p.read]
    outputs = [p for p in ports if p.written]
    arguments = ", ".join(p.name for p in ports)
    declared = [f"{p.type} {p.name}" for p in inputs]
    if len(outputs) == 1:
        (result,) = outputs
        return (
            f"#pragma hls_top\n{result.type} {top}({', '.join(declared)}) {{\n"
            f"  {result.type} {result.name};\n  {body}({arguments});\n  return {result.name};\n}}\n"
        )
    declared += [f"{p.type} &{p.name}" for p in outputs]
    return f"#pragma hls_top\nvoid {top}({', '.join(declared)}) {{\n  {body}({arguments});\n}}\n"


def _free(name: str, ports: list[BlockPort]) -> str:
    """``name``, lengthened until no port is called so."""
    while any(name in (p.name, p.out_name, f"{p.name}_data") for p in ports):
        name += "_"
    return name


def channel_block(body: str, ports: list[BlockPort]) -> str:
    """A block with one channel a port; arrays are registers inside."""
    members, before, after = [], [], []
    ivs = [_free(f"i{dim}", ports) for dim in range(max(len(p.shape or (1,)) for p in ports))]
    for port in ports:
        if port.read:
            members.append(f"  __xls_channel< {port.type}, __xls_channel_dir_In > {port.name};")
        if port.written:
            members.append(
                f"  __xls_channel< {port.type}, __xls_channel_dir_Out > {port.out_name};"
            )
        before.append(f"    {port.type} {port.name}_data{port.dims};")
        if port.read:
            before += _over(port, ivs, f"{port.name}_data", "= " + f"{port.name}.read();")
        if port.written:
            after += _over(port, ivs, f"{port.name}_data", "", f"{port.out_name}.write(", ");")
    arguments = ", ".join(f"{p.name}_data" for p in ports)
    return _block(members, [*before, f"    {body}({arguments});", *after])


def _over(
    port: BlockPort, ivs: list[str], data: str, assign: str, head: str = "", tail: str = ""
) -> list[str]:
    """A pipelined loop nest over a port's elements."""
    lines, pad = [], "    "
    subscripts = ""
    shape = port.shape if port.shape is not None else ()
    for dim, extent in enumerate(shape or ((1,) if port.shape is not None else ())):
        if dim == len(shape) - 1 or not shape:
            lines.append(f"{pad}#pragma hls_pipeline_init_interval 1")
        iv = ivs[dim]
        lines.append(f"{pad}for (int {iv} = 0; {iv} < {extent}; {iv}++)")
        pad += "  "
        subscripts += f"[{iv}]"
    element = f"{data}{subscripts}"
    lines.append(f"{pad}{element} {assign}" if assign else f"{pad}{head}{element}{tail}")
    return lines


def memory_block(body: str, ports: list[BlockPort]) -> str:
    """A block with one memory an array and one channel a scalar."""
    members, before, after, arguments = [], [], [], []
    for port in ports:
        if port.shape is not None:
            members.append(f"  __xls_memory< {port.type}, {port.count} > {port.name};")
            arguments.append(port.name)
            continue
        way, name = ("In", port.name) if port.read else ("Out", port.out_name)
        members.append(f"  __xls_channel< {port.type}, __xls_channel_dir_{way} > {name};")
        arguments.append(f"{port.name}_data")
        before.append(f"    {port.type} {port.name}_data{f' = {name}.read()' * port.read};")
        if port.written:
            after.append(f"    {name}.write({port.name}_data);")
    return _block(members, [*before, f"    {body}({', '.join(arguments)});", *after])


def _block(members: list[str], run: list[str]) -> str:
    lines = ["class TestBlock {", " public:", *members, "", "  #pragma hls_top", "  void Run() {"]
    return "\n".join([*lines, *run, "  }", "};"]) + "\n"


def rewrites(ports: list[BlockPort]) -> str:
    """How code generation replaces each abstract memory by a RAM, as a text proto.

    Raises:
        XLSValidationError: a storage type that XLS has no RAM for.
    """
    lines = [
        "# Automatically Generated by Allo",
        "# XLS [CC] Backend",
        "# proto-file: xls/codegen/ram_rewrite.proto",
        "# proto-message: xls.RamRewritesProto",
    ]
    for port in (p for p in ports if p.shape is not None):
        kind = _ram_kind(port)
        lines += ["rewrites {", "  from_config {", "    kind: RAM_ABSTRACT"]
        lines += [f"    depth: {port.count}", "  }", "  to_config {", f"    kind: {kind}"]
        lines += [f"    depth: {port.count}", "  }"]
        for logical, physical in _PORTS[kind]:
            lines += [
                "  from_channels_logical_to_physical: {",
                f'    key: "{logical}"',
                f'    value: "{port.name}{physical}"',
                "  }",
            ]
        lines += [f'  to_name_prefix: "{port.name}_"', "}"]
    return "\n".join(lines) + "\n"


def _ram_kind(port: BlockPort) -> str:
    if port.storage not in _RAM_KINDS:
        allowed = ", ".join(k for k in _RAM_KINDS if k)
        raise XLSValidationError(
            f"XLS has no RAM for storage type {port.storage} of {port.name}; allowed: {allowed}.",
            help="choose one of these in Memory(storage_type=…), or leave it out.",
        )
    return _RAM_KINDS[port.storage]


def adapter(ports: list[BlockPort], call: str, memory: bool) -> str:
    """What sw_emu calls: fills the block's channels or memories from arrays, runs it, and reads back."""
    params, before, after = [], [], []
    k, block = _free("k", ports), _free("block", ports)
    for port in ports:
        scalar_in = port.shape is None and port.read
        params.append(f"{port.type} {'' if scalar_in else '*'}{port.name}")
        element = port.name if scalar_in else f"{port.name}[{k}]"
        loop = f"  for (long long {k} = 0; {k} < {port.count}; {k}++) "
        if memory and port.shape is not None:
            before.append(f"{loop}{block}.{port.name}[{k}] = {element};")
            after.append(f"{loop}{element} = {block}.{port.name}[{k}];")
            continue
        if port.read:
            before.append(f"{loop}{block}.{port.name}.write({element});")
        if port.written:
            after.append(f"{loop}{element} = {block}.{port.out_name}.read();")
    head = f"static void allo_harness({', '.join(params)}) {{\n"
    if call:
        return f"{head}  {call}\n}}\n"
    body = "\n".join([f"  static TestBlock {block};", *before, f"  {block}.Run();", *after])
    return f"{head}{body}\n}}\n"
