"""What programs on a host must know of a design: ``design.json`` for the driver, ``design.hpp`` for C++."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from allo.backend.rtl.interfaces.board import BUS_ERROR, Buffered
from allo.backend.rtl.interfaces.board import Board as Wrapper
from allo.backend.sim import RTLModule
from allo.dialects.boundary.storage import is_fixed, is_signed, natural_dtype
from allo.dialects.diagnostics import BoardError
from allo.dialects.types import AlloType, Block, Struct

_WIDEST = 64


def kernel_of(wrapper: Wrapper) -> str:
    """What the IP around a wrapper is called, and the kernel of a card."""
    return f"{wrapper.core}_ip"


@dataclass(frozen=True, slots=True)
class Piece:
    """What one master reaches of an array: all of it, or words of the bus in turn.

    Attributes:
        number, count: which piece of how many.
        bundle: of the master.
        bytes: that the piece takes in memory; ``line`` those of a word of the bus.
    """

    array: Buffered
    number: int
    count: int
    bundle: str
    bytes: int
    line: int


def pieces_of(wrapper: Wrapper) -> dict[str, Piece]:
    """The pieces of the arrays of a wrapper, by the names of the registers that hold their addresses."""
    widths = {master.bundle: master.width for master in wrapper.masters}
    found = {}
    for array in wrapper.arrays:
        for number, part in enumerate(array.parts):
            width, count = widths[part.bundle], len(array.parts)
            size = array.part_bytes(width)
            found[part.register] = Piece(array, number, count, part.bundle, size, width // 8)
    return found


def check_types(mod: RTLModule) -> None:
    """Refuse what the driver does not pass.

    Raises:
        BoardError: an argument or a result has a type that NumPy lacks.
    """
    for parameter in (*mod.signature.arguments, *mod.signature.results):
        name, dtype = parameter.name, parameter.dtype
        if isinstance(dtype, (Block, Struct)) or dtype.bits > _WIDEST or dtype.name == "bf16":
            raise BoardError(
                f"{name} is of type {dtype}, which the driver on the board does not take.",
                parameter.place,
                help="it takes integers, fixed point and floats of up to 64 bits that NumPy has.",
            )


def described(mod: RTLModule, wrapper: Wrapper, image: str) -> str:
    """The text of ``design.json``."""
    registers = {r.name: r for r in wrapper.registers or ()}
    written = [r.name for r in wrapper.registers or () if r.written]
    arrays = {each.name: each for each in wrapper.arrays}
    pieces = pieces_of(wrapper)
    design, signature = mod.design, mod.signature

    def entry(name: str, dtype: AlloType, shape: Any) -> dict[str, Any]:
        array = arrays.get(name)
        return {
            "name": name,
            "dtype": natural_dtype(dtype).str,
            "shape": None if array is None else list(shape),
            "width": dtype.bits,
            "cell": max(8, 1 << (dtype.bits - 1).bit_length()),
            "signed": is_signed(dtype),
            "fraction": dtype.fracs if is_fixed(dtype) else None,
            "stored": array is not None and array.stored,
            "offset": registers[name].offset,
            "index": written.index(name) if name in written else None,
            "packed": array is not None and bool(array.beside and array.beside.packed),
            **parts(name),
        }

    def parts(name: str) -> dict[str, Any]:
        """Where the pieces of an array on several masters are passed."""
        own = {r: p for r, p in pieces.items() if p.array.name == name and p.count > 1}
        if not own:
            return {}
        each = [
            {"offset": registers[r].offset, "index": written.index(r), "bytes": p.bytes}
            for r, p in own.items()
        ]
        return {"parts": each, "line": next(iter(own.values())).line}

    pairs = zip(design.arguments, signature.arguments, strict=True)
    returned = zip(design.results, signature.results, strict=True)
    error = registers.get(BUS_ERROR)
    found = {
        "name": wrapper.core,
        "kernel": kernel_of(wrapper),
        "cell": f"{kernel_of(wrapper)}_0",
        "image": image,
        "arguments": [entry(n, p.dtype, p.shape) for n, p in pairs],
        "results": [entry(n, p.dtype, p.shape) for n, p in returned],
        "bus_error": None if error is None else error.offset,
    }
    return json.dumps(found, indent=1) + "\n"


def header(wrapper: Wrapper) -> str:
    """The text of ``design.hpp``: the arguments in the order of their registers."""
    pieces = pieces_of(wrapper)
    rows = []
    for register in wrapper.registers or ():
        if register.written:
            piece = pieces.get(register.name)
            if piece is None:
                row = f'"{register.name}", {4 * register.words}, false, false, 0, 1, 0, 0'
            else:
                stored = str(piece.array.stored).lower()
                row = f'"{piece.array.name}", {piece.array.bytes}, true, {stored}, '
                row += f"{piece.number}, {piece.count}, {piece.bytes}, {piece.line}"
            rows.append(f"    {{{row}}},")
    return "\n".join(
        [
            f"// The arguments of {wrapper.core} in their order, by Allo.",
            "#pragma once",
            "#include <cstddef>",
            "",
            "// An array on several masters is an argument a piece: line k of its bytes is line k / pieces",
            "// of the piece k % pieces.",
            "struct Argument {",
            "  const char *name;",
            "  std::size_t bytes;",
            "  bool array, stored;",
            "  std::size_t piece, pieces, piece_bytes, line;",
            "};",
            f'static const char *const KERNEL = "{kernel_of(wrapper)}";',
            "static const Argument ARGUMENTS[] = {",
            *rows,
            "};",
            "",
        ]
    )
