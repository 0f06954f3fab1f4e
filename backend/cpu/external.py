"""Kernels in C++ that core IR calls: compiled once into a shared library, reached by address.

An external function is a private declaration in the module and, beside it, an object with
``top`` (the C++ function), ``impl`` (the file) and ``include_paths``. The C++ compiler takes the
function's own parameter types, so arrays ``T a[8][8]``, pointers and scalars all work.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.boundary.storage import is_native
from allo.dialects.caches.files import cached, content_key
from allo.dialects.core.locations import place_of
from allo.dialects.core.signature import function_type, symbol
from allo.dialects.diagnostics import BuildError, UnsupportedOpError
from allo.dialects.processes.cpp_compiler import SECONDS, compile_shared, find_compiler
from allo.dialects.processes.shared_library import load_shared
from allo.dialects.processes.tools import run_tool
from allo.dialects.text.quoting import include
from allo.dialects.types import parse_type

_PREFIX = "__allo_external_"
_LIBRARY = "lib.so"

_SHIM = """
#include <cstddef>
#include <utility>

namespace allo_shim {{
template <class T> struct Argument {{
  static T of(void *address) {{ return *static_cast<T *>(address); }}
}};
template <class T> struct Argument<T *> {{
  static T *of(void *address) {{ return static_cast<T *>(address); }}
}};
template <class T> struct Argument<T &> {{
  static T &of(void *address) {{ return *static_cast<T *>(address); }}
}};
template <class R, class... A, std::size_t... I>
void call(R (*function)(A...), void **addresses, std::index_sequence<I...>) {{
  static_assert(sizeof...(A) == {count}, "the kernel passes {count} arguments");
  function(Argument<A>::of(addresses[I])...);
}}
template <class R, class... A> void call(R (*function)(A...), void **addresses) {{
  call(function, addresses, std::index_sequence_for<A...>());
}}
}} // namespace allo_shim

extern "C" void {symbol}(void **addresses) {{ allo_shim::call({top}, addresses); }}
"""


def link_externals(module: ir.Module, libraries: Sequence[Any]) -> dict[str, int]:
    """Give every external declaration of ``module`` a body that calls its C++; in place.

    Args:
        libraries: objects with ``top``, ``impl`` and, if need be, ``include_paths``.

    Returns:
        Addresses by symbol, for the JIT.

    Raises:
        BuildError: no library for a declaration, or a missing file.
        UnsupportedOpError: an argument whose type C++ cannot take as it lies in memory.
        ToolMissingError, ToolFailedError: from the C++ compiler.
    """
    addresses: dict[str, int] = {}
    for op in list(module.body.operations):
        if op.operation.name != "func.func" or op.regions[0].blocks:
            continue
        function = op.operation
        library = _library_of(function, libraries)
        _check_types(function)
        wrapper = _PREFIX + symbol(function)
        addresses[wrapper] = _load(library, wrapper, len(function_type(function).inputs))
        _give_body(module, function, wrapper)
    return addresses


def _library_of(function: ir.Operation, libraries: Sequence[Any]) -> Any:
    name = symbol(function)
    for library in libraries:
        top = getattr(library, "top", None)
        if top and (name == top or name.startswith(f"{top}_")):
            return library
    raise BuildError(
        f"Function {name} is external, and no external library has it.",
        place_of(function),
        help="pass an IPModule of that name in ext_libs.",
    )


def _check_types(function: ir.Operation) -> None:
    if "arg_types" not in function.attributes:
        return
    for entry in function.attributes["arg_types"]:
        if not is_native(parse_type(entry.value)):
            raise UnsupportedOpError(
                f"External function {function.attributes['sym_name'].value} takes {entry.value}, "
                "which C++ does not lay out as the kernel does.",
                place_of(function),
                help="pass integers of 8, 16, 32 or 64 bits or floats.",
            )


def _load(library: Any, symbol: str, count: int) -> int:
    path = Path(library.impl).expanduser().absolute()
    if not path.is_file():
        raise BuildError(f"The external C++ file {path} does not exist.")
    includes = [f"-I{folder}" for folder in getattr(library, "include_paths", None) or ()]
    text = f"#include {include(path)}\n" + _SHIM.format(symbol=symbol, top=library.top, count=count)
    compiler = find_compiler(f"external function {library.top}")
    options = ["-std=c++17", "-O2", "-fPIC", "-shared", *includes]
    key = content_key(_preprocess(compiler, text, includes, path), *options)

    def make(folder: Path) -> None:
        source = folder / "shim.cpp"
        source.write_text(text)
        compile_shared([compiler, *options], [source], folder / _LIBRARY, str(path))

    loaded = load_shared(cached(("external",), key, [_LIBRARY], make) / _LIBRARY)
    return ctypes.cast(getattr(loaded, symbol), ctypes.c_void_p).value or 0


def _preprocess(compiler: str, text: str, includes: list[str], path: Path) -> str:
    """The text with everything it includes, so that a changed header is noticed."""
    command = [compiler, "-std=c++17", "-E", "-P", *includes, "-x", "c++", "-"]
    return run_tool(command, None, what=f"Reading {path}", timeout_s=SECONDS, text=text, apart=True)


def _give_body(module: ir.Module, function: ir.Operation, wrapper: str) -> None:
    name = symbol(function)
    kinds = function_type(function).inputs
    lines = [
        *_words_lines("slots", len(kinds)),
        *_words_lines("cells", len(kinds)),
    ]
    for i, kind in enumerate(kinds):
        lines.append(f"%slot{i} = llvm.getelementptr %slots_p[{i}] : (!llvm.ptr) -> !llvm.ptr, i64")
        if isinstance(kind, ir.MemRefType):
            lines += [
                f"%x{i} = memref.extract_aligned_pointer_as_index %a{i} : {kind} -> index",
                f"%w{i} = arith.index_cast %x{i} : index to i64",
                f"%q{i} = llvm.inttoptr %w{i} : i64 to !llvm.ptr",
            ]
        else:
            cast = isinstance(kind, ir.IndexType)
            if cast:
                lines.append(f"%v{i} = arith.index_cast %a{i} : index to i64")
            lines += [
                f"%q{i} = llvm.getelementptr %cells_p[{i}] : (!llvm.ptr) -> !llvm.ptr, i64",
                f"llvm.store %{'v' if cast else 'a'}{i}, %q{i} : {'i64' if cast else kind}, !llvm.ptr",
            ]
        lines.append(f"llvm.store %q{i}, %slot{i} : !llvm.ptr, !llvm.ptr")
    arguments = ", ".join(f"%a{i}: {kind}" for i, kind in enumerate(kinds))
    body = "\n".join([*lines, f"llvm.call @{wrapper}(%slots_p) : (!llvm.ptr) -> ()", "return"])
    text = f"llvm.func @{wrapper}(!llvm.ptr)\nfunc.func @{name}({arguments}) {{\n{body}\n}}"
    with module.context, ir.Location.unknown():
        function.erase()
        made = ir.Module.parse(text)
        for op in list(made.body.operations):
            op.operation.detach_from_parent()
            module.body.append(op)


def _words_lines(name: str, count: int) -> list[str]:
    """Local memory of ``count`` words, at ``%<name>_p``."""
    kind = f"memref<{max(1, count)}xi64>"
    return [
        f"%{name} = memref.alloc() : {kind}",
        f"%{name}_x = memref.extract_aligned_pointer_as_index %{name} : {kind} -> index",
        f"%{name}_w = arith.index_cast %{name}_x : index to i64",
        f"%{name}_p = llvm.inttoptr %{name}_w : i64 to !llvm.ptr",
    ]
