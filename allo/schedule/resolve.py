"""From handles to operations and values, with errors that name near misses."""

from __future__ import annotations

from dataclasses import dataclass

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import string_attribute, walk
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import declared_arguments, functions_of, signature_of
from allo.dialects.diagnostics import HandleTypeError, ScheduleError, UnknownHandleError

from .bands import Band, bands_of
from .handles import Axis, LoopWrapper, MockBuffer
from .near import suggestion
from .struct_fields import help_for_field, help_for_struct


@dataclass(frozen=True, slots=True)
class FoundLoop:
    """A resolved loop handle."""

    function: ir.Operation
    func: str
    band: Band
    name: str
    op: ir.Operation


@dataclass(frozen=True, slots=True)
class FoundBuffer:
    """A resolved buffer handle: ``value`` is the memref (or stream handle).

    ``dims`` are the dimensions of the memref that the function declares: all of them, unless its calls
    pass slices and :func:`fold_views` has made it take the whole array.
    """

    function: ir.Operation
    func: str
    name: str
    value: ir.Value
    dims: tuple[int, ...]

    @property
    def type(self) -> ir.MemRefType:
        """The type of the array."""
        return ir.MemRefType(self.value.type)


def find_function(module: ir.Module, name: str) -> ir.Operation:
    """The function of this name.

    Raises:
        UnknownHandleError: when the module has none.
    """
    functions = functions_of(module)
    found = functions.get(name)
    if found is None:
        raise UnknownHandleError(
            f"Function {name} not found.", help=suggestion(name, functions, "the module has")
        )
    return found


def split_name(text: str, top: str) -> tuple[str, str]:
    """(function, rest) of ``"func:rest"``; the top function where none is named."""
    func, colon, rest = text.partition(":")
    return (func, rest) if colon else (top, text)


def find_loop(module: ir.Module, top: str, axis: Axis, primitive: str) -> FoundLoop:
    """The loop a handle names.

    Raises:
        UnknownHandleError: no such function, band or loop.
        ScheduleError: the handle is of a wrong kind, or names loops of several bands.
    """
    if isinstance(axis, LoopWrapper):
        func, band_name, name = axis.func, axis.band, axis.loop_name
    elif isinstance(axis, str):
        func, name = split_name(axis, top)
        band_name = ""
    else:
        raise ScheduleError(
            f"{primitive} expects a loop, got {axis!r}.",
            help='name it as "i" or "func:i", or take it from s.get_loops().',
        )
    function = _function_of_loop(module, top, func, name)
    bands = bands_of(function)
    holding = _bands_holding(bands, band_name, name)
    if not holding:
        raise _unknown_loop(func, band_name, name, bands)
    if len(holding) > 1:
        places = ", ".join(b.name for b in holding)
        raise ScheduleError(
            f"Find multiple bands containing loop {name} in function {func}: {places}.",
            place_of(holding[0].root),
            help=f'take the loop from its band: s.get_loops("{func}")["{holding[0].name}"]["{name}"].',
        )
    band = holding[0]
    return FoundLoop(function, func, band, name, dict(band.loops)[name])


def _function_of_loop(module: ir.Module, top: str, func: str, name: str) -> ir.Operation:
    """The function of a loop handle; a band's name in its place is a likely mistake."""
    functions = functions_of(module)
    if func not in functions and func in [band.name for band in bands_of(functions[top])]:
        raise UnknownHandleError(
            f"Function {func} not found: {func} is a band of function {top}.",
            help=f'take the loop from its band: s.get_loops()["{func}"]["{name}"].',
        )
    return find_function(module, func)


def _bands_holding(bands: list[Band], band_name: str, name: str) -> list[Band]:
    if band_name:
        # A later band hides an earlier one of the same name.
        return [b for b in bands if b.name == band_name and b.find(name) is not None][-1:]
    shown = [b for b in bands if not b.hidden and b.find(name) is not None]
    return shown or [b for b in bands if b.find(name) is not None]


def _unknown_loop(func: str, band_name: str, name: str, bands: list[Band]) -> UnknownHandleError:
    if band_name and band_name not in [b.name for b in bands]:
        return UnknownHandleError(
            f"Band {band_name} not found in function {func}.",
            help=suggestion(band_name, [b.name for b in bands], f"{func} has the bands"),
        )
    chosen = [b for b in bands if not band_name or b.name == band_name]
    where = f"band {band_name} of function {func}" if band_name else f"function {func}"
    names = [n for b in chosen for n, _ in b.loops]
    return UnknownHandleError(
        f"No such loop {name!r}: Cannot find the band of loop {name} in {where}.",
        help=suggestion(name, names, f"{where} has the loops"),
    )


def find_band(module: ir.Module, top: str, text: str) -> tuple[ir.Operation, Band]:
    """The band ``"band"`` or ``"func:band"`` names."""
    func, name = split_name(text, top)
    function = find_function(module, func)
    bands = bands_of(function)
    for band in reversed(bands):
        if band.name == name:
            return function, band
    raise UnknownHandleError(
        f"Band {name} not found in function {func}.",
        help=suggestion(name, [b.name for b in bands], f"{func} has the bands"),
    )


def buffers_of(function: ir.Operation) -> dict[str, ir.Value]:
    """Arguments, local arrays, call results and constants of a function by name."""
    found: dict[str, ir.Value] = {}
    block = function.regions[0].blocks[0]
    signature = signature_of(function)
    for position, value in enumerate(block.arguments):
        found.setdefault(signature.name(position), value)
    for op in walk(function):
        if op.name not in ("memref.alloc", "memref.get_global", "func.call", "memref.subview"):
            continue
        name = string_attribute(op, "name") if op.name != "memref.get_global" else None
        if op.name == "memref.get_global":
            name = _global_name(op)
        if name is None or not len(op.results):
            continue
        parts = name.split(",") if "," in name else [name] * len(op.results)
        for part, result in zip(parts, op.results, strict=False):
            found.setdefault(part.strip(), result)
    return found


def _global_name(op: ir.Operation) -> str:
    # The inherent attribute "name" is the symbol; the loads carry the variable's name.
    for use in op.result.uses:
        name = string_attribute(use.owner, "from") or string_attribute(use.owner, "to")
        if name is not None:
            return name
    symbol: str = ir.FlatSymbolRefAttr(op.attributes["name"]).value
    return symbol


def find_buffer(
    module: ir.Module, top: str, target: str | MockBuffer, primitive: str
) -> FoundBuffer:
    """The memref a buffer handle names.

    Raises:
        UnknownHandleError: no such function or buffer.
        ScheduleError: the handle is of a wrong kind or names a scalar.
    """
    if isinstance(target, str):
        func, name = split_name(target, top)
    elif isinstance(target, MockBuffer):
        func, name = target.func, target.name
    else:
        raise HandleTypeError(
            f"{primitive}: Target must be a buffer, got {target!r}.",
            help='take it from the schedule (s.A) or name it "func:A".',
        )
    function = find_function(module, func)
    buffers = buffers_of(function)
    declared = {argument.name: argument for argument in declared_arguments(function)}
    value = buffers.get(declared[name].holder if name in declared else name)
    if value is None:
        raise UnknownHandleError(
            f"Target {name} not found in function {func}.",
            help=help_for_field(function, name)
            or suggestion(name, buffers, f"{func} has the buffers"),
        )
    if not isinstance(value.type, ir.MemRefType):
        raise ScheduleError(
            f"{primitive} expects an array, but {name} of function {func} is a {value.type}.",
            place_of(function),
            help=help_for_struct(name, buffers),
        )
    rank = ir.MemRefType(value.type).rank
    dims = declared[name].dims if name in declared else tuple(range(rank))
    return FoundBuffer(function, func, name, value, dims)
