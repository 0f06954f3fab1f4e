"""What programs on a host must know of a design: ``design.json`` for the driver, ``design.hpp`` for C++."""

from __future__ import annotations

import json
from typing import Any

from allo.backend.rtl.interfaces.board import BUS_ERROR
from allo.backend.rtl.interfaces.board import Board as Wrapper
from allo.backend.sim import RTLModule
from allo.dialects.boundary.storage import is_fixed, is_signed, natural_dtype
from allo.dialects.diagnostics import BoardError
from allo.dialects.types import AlloType, Block, Struct

_WIDEST = 64


def kernel_of(wrapper: Wrapper) -> str:
    """What the IP around a wrapper is called, and the kernel of a card."""
    return f"{wrapper.core}_ip"


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
        }

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
    arrays = {a.name: a for a in wrapper.arrays}
    rows = []
    for register in wrapper.registers or ():
        if register.written:
            array = arrays.get(register.name)
            size = 4 * register.words if array is None else array.bytes
            stored = array is not None and array.stored
            kinds = f"{str(array is not None).lower()}, {str(stored).lower()}"
            rows.append(f'    {{"{register.name}", {size}, {kinds}}},')
    return "\n".join(
        [
            f"// The arguments of {wrapper.core} in their order, by Allo.",
            "#pragma once",
            "#include <cstddef>",
            "",
            "struct Argument {",
            "  const char *name;",
            "  std::size_t bytes;",
            "  bool array, stored;",
            "};",
            f'static const char *const KERNEL = "{kernel_of(wrapper)}";',
            "static const Argument ARGUMENTS[] = {",
            *rows,
            "};",
            "",
        ]
    )
