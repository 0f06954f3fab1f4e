"""The ports of a top function: what a caller, a host program or a test bench must supply."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from allo.dialects._mlir import ir
from allo.dialects.boundary.arguments import Signature
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import BuildError, SourcePlace
from allo.dialects.interfaces.placements import Placement
from allo.dialects.passes.arg_access import touched_arguments

from ..emit.signature import Param, read_signature
from ..errors import HlsConfigError, HlsInterfaceError
from ..spread.layout import Spread, check_spread
from .connectivity import SPREADING, Banks

_SEVERAL_MEMORIES = ("vitis_hls", "tapa")
"""The targets whose projects say in which memory each port is."""


@dataclass(frozen=True, slots=True)
class Port:
    """One parameter of the top function as the user declared it.

    Attributes:
        param: name, types and shape.
        access: ``in``, ``out`` or ``both``.
        touched: whether the kernel reads or writes it at all.
        place: of the top function.
    """

    param: Param
    access: str
    touched: bool = True
    place: SourcePlace | None = None

    @property
    def is_output(self) -> bool:
        """Whether the kernel writes to it."""
        return self.access != "in"

    @property
    def leaves_values(self) -> bool:
        """Whether a host program reads it after a run: an array that is written, or a result."""
        return self.is_output and (self.param.is_array or self.param.role == "result")


def named_ports(ports: Sequence[Port], top: str, mapping: Mapping[str, Banks]) -> dict[str, int]:
    """The positions of the ports that ``hbm_mapping`` names: by argument, or ``output_<i>``.

    Raises:
        HlsConfigError: a name is of no port.
    """
    names = {p.param.name: k for k, p in enumerate(ports) if p.param.role == "in"}
    outputs = [k for k, p in enumerate(ports) if p.leaves_values]
    names |= {f"output_{i}": k for i, k in enumerate(outputs)}
    for name in mapping:
        if name not in names:
            raise HlsConfigError(
                f"hbm_mapping names {name!r}, which is no port of {top}.",
                help=f"its ports: {', '.join(names)}.",
            )
    return {name: names[name] for name in mapping}


def split_ports(
    ports: Sequence[Port], top: str, platform: str, mapping: Mapping[str, Banks]
) -> dict[int, int]:
    """Into how many ports arguments are split that ``hbm_mapping`` gives several memories, by position.

    Raises:
        HlsConfigError: a list of memories for what cannot be split, or of a wrong count.
    """
    lists = {name: banks for name, banks in mapping.items() if not isinstance(banks, str)}
    if not lists:
        return {}
    if platform not in _SEVERAL_MEMORIES:
        raise HlsConfigError(
            f"hbm_mapping gives {next(iter(lists))} a list of memories, and a kernel for {platform} has "
            "one port an array.",
            help=f"build for {' or '.join(_SEVERAL_MEMORIES)}, or name one memory.",
        )
    positions = named_ports(ports, top, mapping)
    found = {}
    for name, banks in lists.items():
        position = positions[name]
        twice = [n for n, k in positions.items() if k == position]
        if len(twice) > 1:
            raise HlsConfigError(
                f"hbm_mapping names one port of {top} twice, as {' and as '.join(twice)}.",
                help="name it once.",
            )
        _check_split(name, ports[position].param, len(banks))
        if len(banks) > 1:
            found[position] = len(banks)
    return found


def _check_split(name: str, param: Param, count: int) -> None:
    given = f"hbm_mapping gives {name} a list of memories"
    if param.role == "result":
        raise HlsConfigError(
            f"{given}, and {name} is a result of the kernel.",
            help="pass an array as an argument in which the kernel leaves its result.",
        )
    if not param.shape or param.is_dynamic:
        what = "an array of any length" if param.is_dynamic else "no array with dimensions"
        raise HlsConfigError(f"{given}, and {name} is {what}.", help="name one memory.")
    extent = param.shape[0]
    if count and extent % count == 0:
        return
    fitting = [n for n in range(1, min(extent, 64) + 1) if extent % n == 0]
    raise HlsConfigError(
        f"hbm_mapping gives {name} {count} memories, which do not divide its {extent} rows.",
        help=f"give it one of these numbers of memories: {', '.join(map(str, fitting))}.",
    )


def packed_arrays(signature: Signature, platform: str, parts: Collection[int]) -> frozenset[str]:
    """The arrays whose lines hold no bits between elements, where kernels of the platform pass lines.

    Args:
        parts: the positions of the arrays that ``hbm_mapping`` splits.

    Raises:
        HlsConfigError: such an array is packed.
    """
    if platform not in SPREADING:
        return frozenset()
    packed = {k: each for k, each in enumerate(signature.arguments) if each.packed}
    for position in parts:
        if position in packed:
            raise HlsConfigError(
                f"{packed[position].name} is packed, and hbm_mapping splits it by rows.",
                packed[position].place,
                help="s.place it in several channels, such as 'hbm[0:2]', in place of the list.",
            )
    return frozenset(each.name for each in packed.values())


def spread_ports(
    ports: Sequence[Port], apart: Mapping[str, Placement], packed: Collection[str] = ()
) -> dict[int, Spread]:
    """The arrays of which lines pass, by position: those with a port for each channel, and packed ones.

    Raises:
        HlsConfigError: elements of one are no words of C++ of a power of two of bytes.
    """
    found: dict[int, Spread] = {}
    for position, port in enumerate(ports):
        where, param = apart.get(port.param.name), port.param
        without_bits = param.name in packed
        if param.role != "in" or param.memref is None or not (where or without_bits):
            continue
        kind = ir.MemRefType(param.memref)
        channels = where.count if where else 1
        spread = Spread(param.name, kind, str(param.declared), channels, packed=without_bits)
        check_spread(spread, port.place)
        found[position] = spread
    return found


_WITHOUT_PORTS = (None, "csim")
_WITHOUT_HOST = (None, "csim", "csyn")
"""Modes in which a top function without ports has a use: its text, and a run that prints."""


def read_ports(
    module: ir.Module, top: str, access: Sequence[str], mode: str | None
) -> tuple[Port, ...]:
    """The ports of function ``top`` before any rewriting.

    Raises:
        BuildError: the module has no such function.
        HlsInterfaceError: the function has no parameter at all, and the mode makes hardware of it; or one is
            a stream, and the mode has a host program.
    """
    table = ir.SymbolTable(module.operation)
    if top not in table:
        raise BuildError(f"The module has no function named {top}.")
    op = table[top].operation
    signature = read_signature(op)
    words = [*access, *["out"] * len(signature.results)]
    touched = touched_arguments(module, top)
    ports = tuple(
        Port(param, word, param.role == "result" or position in touched, place_of(op))
        for position, (param, word) in enumerate(zip(signature.params, words, strict=True))
    )
    if not ports and mode not in _WITHOUT_PORTS:
        raise HlsInterfaceError(
            f"The top function {top} has neither arguments nor results, so its hardware would "
            "have no ports.",
            place_of(op),
            help="pass an array in which it leaves its result; its text and mode='csim' need no ports.",
        )
    stream = next((port.param.name for port in ports if port.param.is_stream), None)
    if stream is not None and mode not in _WITHOUT_HOST:
        raise HlsInterfaceError(
            f"Argument {stream} of {top} is a stream, and the host program of mode {mode!r} passes arrays "
            "and scalars.",
            place_of(op),
            help="mode='csim' runs it here, and mode='csyn' synthesises it; in a system of yours, a data "
            "mover or another kernel is at the other end.",
        )
    return ports


def count_outputs(ports: Sequence[Port], given: int | None, strict: bool) -> int:
    """How many trailing ports are outputs.

    Args:
        given: the user's count, which wins.
        strict: refuse an array that is only read behind an output array.

    Raises:
        HlsInterfaceError: an output comes before an input, or the count is out of range.
    """
    results = [p for p in ports if p.param.role == "result"]
    if given is not None:
        if given > len(ports):
            raise HlsInterfaceError(
                f"num_output_args is {given}, but the top function has {len(ports)} parameters."
            )
        return given
    if results:
        return len(results)
    arrays = [p for p in ports if p.param.is_array]
    outputs = sum(p.is_output for p in arrays)
    if strict:
        _check_order(arrays, outputs)
    return outputs


def _check_order(arrays: Sequence[Port], outputs: int) -> None:
    for port in arrays[len(arrays) - outputs :]:
        if port.is_output or not port.touched:
            continue
        first = next(p for p in arrays if p.is_output)
        raise HlsInterfaceError(
            f"Output arguments must appear at the end: {first.param.name} is written, and "
            f"{port.param.name} behind it is only read.",
            help=f"move {first.param.name} behind {port.param.name}, or give "
            "configs={'num_output_args': …}.",
        )
