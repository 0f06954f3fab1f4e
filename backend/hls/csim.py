"""csim without a vendor: the emitted C++, compiled by g++ against the open headers, and called."""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from allo.dialects.cache import cache_dir, content_key, publishing
from allo.dialects.diagnostics import BoundaryError, SimulationError

from .boundary import Slot, array_slot, container_of, empty_slot, result_value, scalar_slot
from .ctype import Kind
from .emit_module import HlsCode
from .headers import SHIMS, compiler, open_headers
from .ports import Port
from .process import run_tool
from .signature import Param
from .vendors import Vendor

_FLAGS = ("-std=c++14", "-O1", "-fPIC", "-w", "-ffp-contract=off", "-pthread")
_PRELUDE = """#include <algorithm>
#include <ap_axi_sdata.h>
#include <ap_fixed.h>
#include <ap_int.h>
#include <hls_math.h>
#include <hls_stream.h>
#include <hls_vector.h>
#include <math.h>
#include <stdint.h>
#include "allo_csim.h"
"""
_STACK_SLACK = 16 << 20
_COMPILE_LIMIT_S = 600.0


@functools.cache
def _compiler_identity(path: str) -> str:
    done = subprocess.run(
        [path, "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout


def _include_flags(extra: Sequence[Path] = ()) -> list[str]:
    return [f"-I{folder}" for folder in (*extra, SHIMS, open_headers())]


def _header_key() -> str:
    files = sorted([*SHIMS.glob("*.h"), *open_headers().rglob("*.h")])
    identity = _compiler_identity(compiler())
    return content_key(identity, " ".join(_FLAGS), _PRELUDE, *files)


def _precompiled_header() -> Path:
    """A folder whose ``prelude.h`` is precompiled: most of a kernel's compile time, once."""
    target = cache_dir("hls", "prelude") / _header_key()
    if target.is_dir():
        return target
    with publishing(target) as folder:
        header = folder / "prelude.h"
        header.write_text(_PRELUDE)
        command = [compiler(), *_FLAGS, *_include_flags(), "-x", "c++-header", str(header)]
        run_tool(
            [*command, "-o", str(folder / "prelude.h.gch")],
            folder,
            what="Compiling the csim headers",
            timeout_s=_COMPILE_LIMIT_S,
        )
    return target


def compile_csim(code: HlsCode, vendor: Vendor, sources: Sequence[Path] = ()) -> Path:
    """The shared library of a kernel, from the cache or compiled now.

    Raises:
        ToolMissingError: no compiler or no headers.
        ToolFailedError: the compiler refused the code; its last lines are in the notes.
    """
    prelude = _precompiled_header()
    text = f"{code.kernel}\n{wrapper_text(code, vendor)}"
    target = cache_dir("hls", "csim") / content_key(prelude.name, text, *sources)
    library = target / "kernel.so"
    if library.is_file():
        return library
    with publishing(target) as folder:
        (folder / "csim.cpp").write_text(text)
        includes = _include_flags([source.parent for source in sources])
        command = [compiler(), *_FLAGS, "-Winvalid-pch", "-include", str(prelude / "prelude.h")]
        output = ["-shared", "-o", str(folder / "kernel.so"), str(folder / "csim.cpp")]
        run_tool(
            [*command, *includes, *output],
            folder,
            what="Compiling the kernel for csim",
            timeout_s=_COMPILE_LIMIT_S,
        )
    return library


# --- the entry point, in C++ ---------------------------------------------------------


def wrapper_text(code: HlsCode, vendor: Vendor) -> str:
    """C++ that calls the top function on an array of pointers to containers."""
    before, arguments, after = [], [], []
    for position, param in enumerate(code.top.params):
        slot = f"arguments[{position}]"
        kind = vendor.spell(param.ctype)
        count = int(np.prod(param.shape or (1,), dtype=np.int64))
        by_value = not param.is_array and param.role == "in"
        if by_value or not _shares_layout(param):
            how = _conversion(param, kind)
            name = f"p{position}"
            before.append(f"allo_csim::Converted<{kind}, {how}> {name}({slot}, {count});")
            if not by_value:
                after.append(f"{name}.write_back();")
            arguments.append(
                f"{name}.data()[0]" if by_value else _cast(code, param, kind, f"{name}.data()")
            )
            continue
        arguments.append(_cast(code, param, kind, slot))
    body = "\n".join(
        f"  {line}" for line in [*before, f"{code.top.name}({', '.join(arguments)});", *after]
    )
    stack = code.stack_bytes * 2 + _STACK_SLACK
    return (
        f"static void allo_call(void **arguments) {{\n{body}\n}}\n"
        'extern "C" int allo_entry(void **arguments) {\n'
        f"  return allo_csim::run(allo_call, arguments, {stack}ul);\n}}\n"
    )


def _shares_layout(param: Param) -> bool:
    ctype = param.ctype
    if ctype.kind in (Kind.FLOAT, Kind.BFLOAT):
        return True
    return ctype.kind is Kind.INT and ctype.is_native and param.declared.name != "i1"


def _conversion(param: Param, kind: str) -> str:
    container = container_of(param.declared)
    if container.is_wide:
        return f"allo_csim::Wide<{kind}, {param.ctype.bits}, {container.storage.itemsize}>"
    storage = container.storage
    if param.ctype.kind is Kind.FLOAT or storage.kind == "b":
        return f"allo_csim::Narrow<{kind}, {kind}>"
    if param.ctype.kind is Kind.BFLOAT:
        return f"allo_csim::Narrow<{kind}, {kind}>"
    sign = "" if storage.kind == "i" else "u"
    return f"allo_csim::Narrow<{kind}, {sign}int{8 * storage.itemsize}_t>"


def _cast(code: HlsCode, param: Param, kind: str, pointer: str) -> str:
    shape = param.shape or (1,)
    if code.top.flat or len(shape) == 1:
        return f"({kind} *){pointer}"
    dims = "".join(f"[{extent}]" for extent in shape[1:])
    return f"({kind} (*){dims}){pointer}"


# --- calling -------------------------------------------------------------------------


class CsimKernel:
    """A compiled kernel with state of its own: static variables start at their initial values."""

    def __init__(self, code: HlsCode, ports: Sequence[Port], library: Path) -> None:
        self._names = code.parameters
        self._ports = [port.param for port in ports]
        self._library = _load_private(library)
        self._entry = self._library.allo_entry
        self._entry.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
        self._entry.restype = ctypes.c_int

    def __call__(self, *args: Any) -> Any:
        """Run once, on arrays in place.

        The arguments are those of the kernel, and optionally one array for each result behind them; without
        those the results are returned.

        Raises:
            BoundaryError: an argument of the wrong count, shape or type.
        """
        arguments = [p for p in self._ports if p.role == "in"]
        results = [p for p in self._ports if p.role == "result"]
        given = len(args) == len(arguments) + len(results)
        if len(args) != len(arguments) and not given:
            optional = (
                f" (or {len(arguments) + len(results)} with result arrays)" if results else ""
            )
            raise BoundaryError(
                f"# of input arguments mismatch, got {len(args)} but expected "
                f"{len(arguments)}{optional}."
            )
        slots = self._slots(args)
        results_given = given and bool(results)
        if not results_given:
            slots += [empty_slot(p) for p in results]
        pointers = (ctypes.c_void_p * max(1, len(slots)))(*[s.memory.ctypes.data for s in slots])
        if self._entry(pointers):
            raise SimulationError(
                "csim could not start: there is no memory for the kernel's stack."
            )
        for slot in slots:
            slot.write_back()
        if results_given or not results:
            return None
        values = [result_value(p, s) for p, s in zip(results, slots[len(arguments) :], strict=True)]
        return values[0] if len(values) == 1 else values

    def _slots(self, args: Sequence[Any]) -> list[Slot]:
        slots = []
        for position, (param, value) in enumerate(zip(self._ports, args, strict=False)):
            make = array_slot if param.is_array or param.role == "result" else scalar_slot
            if param.role == "result" and not param.is_array:
                value = _single(value)
            slots.append(make(param, value, position, self._names[position]))
        return slots


def _single(value: Any) -> Any:
    """An array for a scalar result may have one dimension of one element."""
    return value.reshape(()) if isinstance(value, np.ndarray) and value.size == 1 else value


def _load_private(library: Path) -> ctypes.CDLL:
    """Load a copy: the loader shares libraries by file, and with them their static variables."""
    handle, name = tempfile.mkstemp(suffix=".so", prefix="allo_csim_")
    os.close(handle)
    try:
        shutil.copyfile(library, name)
        return ctypes.CDLL(name)
    finally:
        os.unlink(name)
