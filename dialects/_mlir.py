"""The one import of MLIR.

Everything in Allo that touches MLIR imports it from here, so that another
provider of the upstream bindings can be put in place of the wheel.
"""

import importlib
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch_mlir._mlir_libs
from torch_mlir import ir, rewrite
from torch_mlir._mlir_libs._mlirDialectsIRDL import load_dialects
from torch_mlir.dialects import affine, arith, cf, func, math, memref, scf
from torch_mlir.execution_engine import ExecutionEngine
from torch_mlir.passmanager import PassManager

from .declaration import DECLARATION
from .processes.stack import refuse_small_stack

if TYPE_CHECKING:
    from torch_mlir.dialects import llvm

__all__ = [
    "ExecutionEngine",
    "PassManager",
    "affine",
    "arith",
    "c_interface",
    "cf",
    "func",
    "ir",
    "llvm",
    "make_context",
    "make_llvm_context",
    "math",
    "memref",
    "rewrite",
    "run_passes",
    "scf",
    "with_dialect",
]


def __getattr__(name: str) -> Any:
    """The classes of the LLVM dialect, a third of all there are, are imported where they are used."""
    if name == "llvm":
        return importlib.import_module("torch_mlir.dialects.llvm")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# The bindings look for a Python module of each dialect they meet and, where there is none, search
# the whole path again for every single operation: an empty one makes walks over ours 200x faster.
_OURS = "torch_mlir.dialects.allo"
sys.modules.setdefault(
    _OURS, types.ModuleType(_OURS, "Operations of the allo dialect are generic.")
)


class _Later(types.ModuleType):
    """A module that is imported when somebody asks for something in it."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = importlib.import_module(self.__name__)
        self.__dict__.update(module.__dict__)
        return getattr(module, name)


# The module of linalg, with a language of its own, takes 0.1 s, and we make its operations by name.
_LINALG = "torch_mlir.dialects.linalg"
sys.modules.setdefault(_LINALG, _Later(_LINALG))


def c_interface() -> Path:
    """The shared library that holds MLIR's C interface, the one the bindings themselves use."""
    folder = Path(torch_mlir._mlir_libs.__file__).parent
    return next(folder.glob("lib*AggregateCAPI.*"))


# Loaded at once, since operations are made by name; loading every dialect of the wheel takes five
# times as long. Passes and the parser load what else they need.
_DIALECTS = (
    "affine",
    "arith",
    "builtin",
    "cf",
    "func",
    "linalg",
    "math",
    "memref",
    "scf",
)


def make_context() -> ir.Context:
    """A fresh MLIR context that knows the operations of the ``allo`` dialect.

    Passes run in the thread that asks: a context with threads of its own does not survive
    ``os.fork``.
    """
    return with_dialect(_context(_DIALECTS))


def make_llvm_context() -> ir.Context:
    """A fresh MLIR context for text in the LLVM dialect; it is made in a third of the time."""
    return _context(("llvm",))


def _context(dialects: Sequence[str]) -> ir.Context:
    """A fresh context with these dialects.

    They are loaded by their descriptors: ``load_on_create_dialects`` imports the Python module of each
    as well.

    Raises:
        BuildError: the thread's stack is too small for MLIR.
    """
    refuse_small_stack()
    context = ir.Context(load_on_create_dialects=())
    context.enable_multithreading(False)
    for name in dialects:
        context.get_dialect_descriptor(name)
    return context


def with_dialect(context: ir.Context) -> ir.Context:
    """The same context, which knows the operations of the ``allo`` dialect now.

    They are printed in the generic form. Loading a dialect of IRDL twice ends the process, so a
    context that knows them is left as it is. It takes 0.3 ms.
    """
    if not context.is_registered_operation("allo.stream"):
        with context, ir.Location.unknown():
            load_dialects(ir.Module.parse(DECLARATION))
    return context


def run_passes(module: ir.Module, pipeline: str, *, verify: bool = True) -> None:
    """Run an upstream pass pipeline, for example ``"builtin.module(cse)"``, in place.

    Python handles to operations taken before the call may dangle after it.

    Raises:
        ir.MLIRError: when the pipeline does not parse or a pass fails.
    """
    with module.context:
        manager = PassManager.parse(pipeline)
        manager.enable_verifier(verify)
        manager.run(module.operation)
