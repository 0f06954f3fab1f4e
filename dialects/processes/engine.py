"""MLIR's execution engine: machine code made in this process, without holding Python's lock.

The Python bindings of the engine keep the lock while LLVM works, for seconds on a large module: no other
thread runs then, and Ctrl-C is not served. The functions of MLIR's C interface, called
through ctypes, do the same without it.
"""

from __future__ import annotations

import ctypes
import functools
import platform
from collections.abc import Mapping
from typing import Any

from .._mlir import ExecutionEngine, c_interface, ir
from ..diagnostics import BuildError
from .aside import run_aside
from .instructions import choose_instructions

_GCC_HELPERS = (
    "__divti3",
    "__udivti3",
    "__modti3",
    "__umodti3",
    "__multi3",
    "__floattisf",
    "__floattidf",
    "__floatuntisf",
    "__floatuntidf",
    "__fixsfti",
    "__fixdfti",
    "__fixunssfti",
    "__fixunsdfti",
    "__extendhfsf2",
    "__truncsfhf2",
    "__truncdfhf2",
    "__truncsfbf2",
    "__truncdfbf2",
)

_LAYOUT = "e-i64:64-i128:128"
"""What matters of the machine's data layout, where integers lie. LLVM learns the whole of it
only behind the translation, which folds addresses and sizes: of an i65 by 12 bytes, where 16 lie."""

_LLVM_OPTIONS = (b"allo", b"-enable-dfa-jump-thread=false")
"""Its jump threading over automata leaves loops behind that LLVM's own analysis of loops never ends on."""

_X86 = ("x86_64", "AMD64")
_X86_OPTIONS = (b"-x86-cmov-converter=false",)
"""LLVM would make branches of choices in loops, as of a least distance, and cannot know that data decide them
by chance: a branch that is foretold wrongly costs as much as 15 additions."""

_CAPSULE = b"torch_mlir.execution_engine.ExecutionEngine._CAPIPtr"
"""A capsule keeps the address of its name, not a copy, so these bytes must outlive it."""


class _Text(ctypes.Structure):
    """``MlirStringRef``."""

    _fields_ = (("data", ctypes.c_char_p), ("length", ctypes.c_size_t))


class Engine:
    """The machine code of a module in the LLVM dialect.

    Ctrl-C is served while it is made, if in the main thread.

    Args:
        module: which must not be used elsewhere meanwhile; the engine keeps what it needs of it.
        opt_level: LLVM's -O level, 0 to 3.

    Attributes:
        binding: the engine as MLIR's Python bindings know it; it owns the code.

    Raises:
        BuildError: the module cannot be translated to LLVM.
    """

    def __init__(self, module: ir.Module, opt_level: int) -> None:
        with module.context:
            layout = ir.StringAttr.get(_LAYOUT)
            if "llvm.data_layout" not in module.operation.attributes:
                module.operation.attributes["llvm.data_layout"] = layout
            choose_instructions(module)
        create = _functions().mlirExecutionEngineCreate
        pointer = _pointer_of(module._CAPIPtr)

        def work() -> ExecutionEngine | None:
            made = create(pointer, opt_level, 0, None, False, False)
            return _wrapped(made) if made and module else None

        binding = run_aside(work)
        if binding is None:
            raise BuildError("LLVM cannot make machine code of the module.")
        self.binding: ExecutionEngine = binding
        self._pointer = _pointer_of(binding._CAPIPtr)
        for name, address in _libgcc().items():
            self.register(name, address)

    def register(self, name: str, address: int) -> None:
        """Tell where a function lies that the code calls; before the first lookup."""
        self.binding.raw_register_runtime(name, ctypes.c_void_p(address))

    def lookup(self, name: str) -> int:
        """The address of the packed form (``void (void **)``) of a function, or 0 where there is none."""
        text = name.encode()
        find = _functions().mlirExecutionEngineLookupPacked
        binding = self.binding  # alive until the work is done, whoever waits for it

        def work() -> int:
            return find(self._pointer, _Text(text, len(text))) if binding else 0

        return run_aside(work) or 0


@functools.cache
def _libgcc() -> Mapping[str, int]:
    """Addresses of the helpers of libgcc that machine code may call, as far as present."""
    try:
        library = ctypes.CDLL("libgcc_s.so.1")
    except OSError:
        return {}
    found = {}
    for name in _GCC_HELPERS:
        symbol = getattr(library, name, None)
        if symbol is not None:
            found[name] = ctypes.cast(symbol, ctypes.c_void_p).value or 0
    return found


@functools.cache
def _functions() -> Any:
    library = ctypes.CDLL(str(c_interface()))
    pointer = ctypes.c_void_p
    create = library.mlirExecutionEngineCreate
    create.restype = pointer
    create.argtypes = [
        pointer,
        ctypes.c_int,
        ctypes.c_int,
        pointer,
        ctypes.c_bool,
        ctypes.c_bool,
    ]
    lookup = library.mlirExecutionEngineLookupPacked
    lookup.restype = pointer
    lookup.argtypes = [pointer, _Text]
    given = [*_LLVM_OPTIONS, *(_X86_OPTIONS if platform.machine() in _X86 else ())]
    options = (ctypes.c_char_p * len(given))(*given)
    library.LLVMParseCommandLineOptions(len(given), options, None)
    return library


@functools.cache
def _python() -> Any:
    """Python's C interface, as far as capsules need it; of our own, so that nobody else types it."""
    python = ctypes.PyDLL(None)
    python.PyCapsule_GetName.restype = ctypes.c_char_p
    python.PyCapsule_GetName.argtypes = [ctypes.py_object]
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    python.PyCapsule_New.restype = ctypes.py_object
    python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return python


def _pointer_of(capsule: object) -> int:
    python = _python()
    return int(python.PyCapsule_GetPointer(capsule, python.PyCapsule_GetName(capsule)))


def _wrapped(pointer: int) -> ExecutionEngine:
    return ExecutionEngine._CAPICreate(capsule_of(pointer))


def capsule_of(pointer: int) -> object:
    """The capsule from which MLIR's Python bindings take an engine."""
    return _python().PyCapsule_New(pointer, _CAPSULE, None)
