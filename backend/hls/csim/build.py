"""csim without a vendor: the emitted C++, compiled by g++ against the open headers, and called."""

from __future__ import annotations

import _ctypes
import ctypes
import shutil
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from allo.dialects.boundary.arguments import Call, Parameter, Signature
from allo.dialects.boundary.storage import cell_bytes, is_native
from allo.dialects.caches.files import cached, content_key
from allo.dialects.diagnostics import ArgumentCountError, BoundsError, BuildError, SimulationError
from allo.dialects.fibers import Growth, ProcessRecord
from allo.dialects.processes.aside import run_aside
from allo.dialects.types import Index, Stream

from ..emit.module import HlsCode, Whole
from ..emit.signature import Param
from ..external import External
from ..spread.layout import LINE_BITS
from ..vendors.tables import Vendor
from .exact_math import exact_math_object, expanded_functions
from .prelude import PRELUDES, XILINX, runtime_object
from .simulation import Simulation

_LIBRARY = "kernel.so"
_STACK_SLACK = 16 << 20
_FIBER_SLACK = 256 << 10
_LINK_MAP = 2
"""``RTLD_DI_LINKMAP``, what ``dlinfo`` is asked for."""
_COPIES = 8
"""Copies of a library that are made until the loader knows one for a new file."""


def compile_csim(code: HlsCode, vendor: Vendor, externals: Sequence[External] = ()) -> Path:
    """The shared library of a kernel, from the cache or compiled now.

    Raises:
        ToolMissingError: no compiler or no headers.
        ToolFailedError: the compiler refused the code; its last lines are in the notes.
    """
    headers = PRELUDES[vendor.family]
    text = f"{code.kernel}\n{wrapper_text(code, vendor)}"
    objects = [runtime_object()]
    objects += [
        exact_math_object(operation, _compile_object, [XILINX.key()])
        for operation in expanded_functions(code.kernel, vendor.math)
    ]
    linked = (*objects, *(file for external in externals for file in external.files))
    includes = [f"-I{folder}" for external in externals for folder in external.include_paths]

    def make(folder: Path) -> None:
        (folder / "csim.cpp").write_text(text)
        arguments = [*includes, "-shared", str(folder / "csim.cpp"), *map(str, objects)]
        headers.compile(arguments, folder / _LIBRARY, "Compiling the kernel for csim")

    key = content_key(headers.key(), text, *linked)
    return cached(("hls", "csim"), key, [_LIBRARY], make) / _LIBRARY


def _compile_object(source: Path, target: Path) -> None:
    XILINX.compile(["-c", str(source)], target, "Compiling the math functions of csim")


# --- the entry point, in C++ ---------------------------------------------------------


def wrapper_text(code: HlsCode, vendor: Vendor) -> str:
    """C++ that calls the top function on an array of pointers to containers."""
    before, arguments, after = [], [], []
    for position, whole in enumerate(code.wholes):
        param, slot = whole.param, f"allo_arguments[{position}]"
        kind = vendor.spell(param.ctype)
        held = _held(param, vendor)
        count = whole.count
        if param.is_stream:
            before.append(_port_text(code, whole, position, vendor))
            arguments.append(f"allo_p{position}.stream()")
            continue
        by_value = not param.is_array and param.role == "in"
        spread, size = whole.spread, f"{count} * sizeof({kind})"
        if spread is not None and spread.packed:
            name = f"allo_b{position}"
            sign, cell = str(spread.is_signed).lower(), cell_bytes(param.declared)
            given = f"{slot}, {count}, {cell}, {spread.bits}, {sign}"
            before.append(f"allo_csim::Packed {name}({given});")
            after.append(f"{name}.write_back();")
            slot, size = f"{name}.data()", f"{name}.size()"
        elif by_value or not _shares_layout(param):
            how = _conversion(param, held)
            name = f"allo_p{position}"
            before.append(f"allo_csim::Converted<{held}, {how}> {name}({slot}, {count});")
            if not by_value:
                after.append(f"{name}.write_back();")
            if by_value:
                arguments.append(f"*({kind} *){name}.data()")
                continue
            slot = f"{name}.data()"
        if spread is not None:
            name = f"allo_s{position}"
            word = vendor.spell_wide(LINE_BITS, False) if spread.wide else kind
            before.append(f"allo_csim::Dealt<{spread.channels}> {name}({slot}, {size});")
            after.insert(0, f"{name}.join();")
            arguments += [f"({word} *){name}.part({c})" for c in range(spread.channels)]
            continue
        arguments += _pointers(code, whole, kind, slot)
    called = f"{code.top.name}({', '.join(arguments)});"
    if code.simulation is not None and code.simulation.checks and after:
        # What was written before a subscript out of range is the caller's, too.
        ending = f"catch (const allo_csim::OutOfBounds &) {{ {' '.join(after)} throw; }}"
        called = f"try {{ {called} }} {ending}"
    body = "\n".join(f"  {line}" for line in [*before, called, *after])
    arrays = code.stack_bytes * 2
    stacks = f"{arrays + _STACK_SLACK}ul, {arrays + _FIBER_SLACK}ul"
    return (
        f"static void allo_call(void **allo_arguments) {{\n{body}\n}}\n"
        'extern "C" int allo_entry(void **arguments) {\n'
        f"  return allo_csim::run(allo_call, arguments, {stacks});\n}}\n"
    )


def _port_text(code: HlsCode, whole: Whole, position: int, vendor: Vendor) -> str:
    """The declaration of a stream argument's port; how many words it has stands behind all arguments."""
    stream = whole.param.declared
    assert isinstance(stream, Stream) and code.simulation is not None
    element = replace(whole.param, declared=stream.dtype)
    word, held = vendor.spell(element.ctype), _held(element, vendor)
    if stream.shape:
        word = vendor.vector.format(element=word, count=stream.shape[-1])
    number, site = code.simulation.port(whole.param.name)
    behind = sum(each.param.is_stream for each in code.wholes[:position])
    kinds = f"{vendor.stream.format(element=word)}, {word}, {held}, {_conversion(element, held)}"
    given = f"allo_arguments[{position}], allo_arguments[{len(code.wholes) + behind}]"
    fills = str(site.fills).lower()
    return f"allo_csim::Port<{kinds}> allo_p{position}({number}, {site.rows}, {fills}, {given});"


def _held(param: Param, vendor: Vendor) -> str:
    """The class that converts: of fixed point the integer behind it, which lies in memory alike."""
    ctype = param.ctype
    return vendor.spell_wide(ctype.bits, ctype.signed) if ctype.is_fixed else vendor.spell(ctype)


def _shares_layout(param: Param) -> bool:
    return is_native(param.declared) and not isinstance(param.declared, Index)


def _conversion(param: Param, kind: str) -> str:
    size = cell_bytes(param.declared)
    if size > 8:
        return f"allo_csim::Wide<{kind}, {param.ctype.bits}, {size}>"
    if isinstance(param.declared, Index):
        return f"allo_csim::Narrow<{kind}, int64_t>"
    if not param.ctype.is_integer or param.ctype.is_bool:
        return f"allo_csim::Narrow<{kind}, {kind}>"
    return f"allo_csim::Narrow<{kind}, uint{8 * size}_t>"


def _pointers(code: HlsCode, whole: Whole, kind: str, array: str) -> list[str]:
    """What the top function is given of an array: a pointer to each part."""
    first = _cast(code, whole.param, kind, array)
    begins = (number * whole.part_count for number in range(1, len(whole.names)))
    return [first, *(_cast(code, whole.param, kind, f"(({kind} *){array} + {n})") for n in begins)]


def _cast(code: HlsCode, param: Param, kind: str, pointer: str) -> str:
    shape = param.shape or (1,)
    if code.top.flat or len(shape) == 1:
        return f"({kind} *){pointer}"
    dims = "".join(f"[{extent}]" for extent in shape[1:])
    return f"({kind} (*){dims}){pointer}"


# --- calling -------------------------------------------------------------------------


_DEADLOCKED, _EMPTY_READ, _ASSERTED, _OUT_OF_BOUNDS = 2, 3, 5, 7  # allo_csim.cpp, enum Status


class CsimKernel:
    """A compiled kernel with state of its own: static variables start at their initial values.

    Attributes:
        words: how many words each stream argument passed in the last call.
    """

    def __init__(
        self, signature: Signature, library: Path, simulation: Simulation, streams: Sequence[int]
    ) -> None:
        self._signature = signature
        self._streams = streams
        self.words: dict[str, int] = {}
        self._simulation = simulation
        self._library = _load_private(library)
        self._entry = self._library.allo_entry
        self._entry.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
        self._entry.restype = ctypes.c_int
        self._turn = threading.Lock()
        unload = weakref.finalize(self, _ctypes.dlclose, self._library._handle)
        unload.atexit = False

    def __call__(self, *args: Any) -> Any:
        """Run once, on arrays in place.

        The arguments are those of the kernel, and optionally one array for each result behind
        them; without those the results are returned.

        Raises:
            BoundaryError: an argument of the wrong count, shape or type.
            KeyboardInterrupt: Ctrl-C, in the main thread; what the kernel had written stays written.
            DependenceError: an asserted dependence does not hold, with ``check_dependences=True``.
            BoundsError: a subscript is out of range, in a build with ``check_bounds=True``.
        """
        call = bind(self._signature, args)
        cells = [np.asarray(c) for c in (*call.inputs, *call.outputs)]
        rooms = {self._signature.arguments[n].name: len(cells[n]) for n in self._streams}
        counts = [np.array(room, np.int64) for room in rooms.values()]
        addresses = [c.ctypes.data for c in (*cells, *counts)]
        pointers = (ctypes.c_void_p * max(1, len(addresses)))(*addresses)
        with self._turn:  # static variables and the records of a failure are the library's
            status = self._run(pointers)
            self.words = dict(zip(rooms, map(int, counts), strict=True))
            failure = self._failure(status, rooms) if status else None
        if isinstance(failure, BoundsError):
            call.finish()
        if failure is not None:
            raise failure
        return call.finish()

    def _run(self, pointers: Any) -> int:
        """Run in a thread of its own where Ctrl-C is to be served: a loop of the kernel sees that soon."""
        self._library.allo_want_end(0)
        found: int = run_aside(
            lambda: self._entry(pointers), lambda: self._library.allo_want_end(1)
        )
        return found

    def _failure(self, status: int, rooms: Mapping[str, int]) -> SimulationError:
        records = self._records()
        if status == _DEADLOCKED:
            words = ctypes.POINTER(ctypes.c_longlong)()
            count = self._library.allo_grown(ctypes.byref(words))
            growth = Growth.read(words[:count], self._records(later=True))
            return self._simulation.network(self.words, rooms).deadlock(records, growth)
        if status == _EMPTY_READ:
            return self._simulation.empty_read(records[0].stream)
        if status == _ASSERTED:
            return self._simulation.assertion(records[0].site)
        if status == _OUT_OF_BOUNDS:
            site = self._simulation.checks[records[0].call]
            return site.error([record.fill for record in records])
        return SimulationError("csim ran out of memory for the stacks of the kernel's processes.")

    def _records(self, *, later: bool = False) -> list[ProcessRecord]:
        pointer = ctypes.POINTER(ProcessRecord)()
        read = self._library.allo_records_later if later else self._library.allo_records
        count = read(ctypes.byref(pointer))
        return pointer[:count]


def bind(signature: Signature, args: Sequence[Any]) -> Call:
    """Bind a call in either form: results returned, or left in arrays given behind the arguments.

    Raises:
        BoundaryError: an argument of the wrong count, shape or type.
    """
    arguments, results = signature.arguments, signature.results
    if not results or len(args) == len(arguments):
        return signature.bind(args)
    if len(args) != len(arguments) + len(results):
        raise ArgumentCountError(
            f"# of input arguments mismatch, got {len(args)} but expected {len(arguments)} "
            f"(or {len(arguments) + len(results)}, with arrays for the results behind them).",
            signature.place,
        )
    outputs = tuple(replace(result, shape=result.shape or (), written=True) for result in results)
    values = [*args[: len(arguments)], *map(_single, args[len(arguments) :], results)]
    return Signature(signature.top, (*arguments, *outputs), (), signature.place).bind(values)


def _single(value: Any, result: Parameter) -> Any:
    """An array for a scalar result may have one dimension of one element."""
    alone = isinstance(value, np.ndarray) and value.size == 1 and result.shape is None
    return value.reshape(()) if alone else value


def _load_private(library: Path) -> ctypes.CDLL:
    """Load a copy: the loader shares libraries by file, and with them their static variables."""
    failures = []
    for place in (None, library.parent):
        try:
            return _load_copy(library, place)
        except OSError as error:
            failures.append(f"{place or tempfile.gettempdir()}: {error}.")
    raise BuildError(
        f"The simulator {library} cannot be loaded.",
        help="name a folder with room from which programs may be loaded in TMPDIR.",
        notes=tuple(failures),
    )


def _load_copy(library: Path, place: Path | None) -> ctypes.CDLL:
    """Load a copy in a folder.

    The loader knows a file by its device and its number. Some file systems give the number of a file that is
    gone to the next one, though it is still mapped; the loader then answers with the older library, which is
    another kernel. Further copies, while the first ones are there, have other numbers.

    Raises:
        OSError: it cannot be written or loaded.
    """
    with ExitStack() as copies:
        for _ in range(_COPIES):
            copy = copies.enter_context(
                tempfile.NamedTemporaryFile(suffix=".so", prefix="allo_csim_", dir=place)
            )
            shutil.copyfile(library, copy.name)
            loaded = ctypes.CDLL(copy.name)
            if _file_of(loaded) == copy.name:
                return loaded
            _ctypes.dlclose(loaded._handle)
    raise OSError("the loader takes each new file for one that is loaded")


class _LinkMap(ctypes.Structure):
    """What the loader keeps of a library, as far as it is asked for: ``struct link_map``."""

    _fields_ = (("base", ctypes.c_void_p), ("name", ctypes.c_char_p))


def _file_of(library: ctypes.CDLL) -> str:
    """The file of a library, by the loader; as it was named, where that says nothing."""
    about = getattr(ctypes.pythonapi, "dlinfo", None)
    found = ctypes.POINTER(_LinkMap)()
    if about is None or about(ctypes.c_void_p(library._handle), _LINK_MAP, ctypes.byref(found)):
        return library._name
    return (found.contents.name or b"").decode()
