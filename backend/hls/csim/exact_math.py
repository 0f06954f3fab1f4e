"""Math functions of the open csim, bit for bit those of the CPU and of the hardware.

The shared expansion (``dialects/passes/expand_math.py``) is run on one small function for each
operation it knows, printed as C++ by the emitter and compiled once; ``hls::exp`` and the others of
``shims/hls_math.h`` call these. A vendor's own library has its own last bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from allo.dialects._mlir import ir, make_context
from allo.dialects.caches.files import cached, content_key
from allo.dialects.passes.expand_math import EXPANSIONS, expand_math

from ..emit.module import emit_module
from ..vendors.tables import VITIS_HLS

_OBJECT = "math.o"
_TWO_OPERANDS = frozenset({"math.powf"})


def expanded_functions(kernel: str, prefix: str) -> tuple[str, ...]:
    """The operations there is an expansion of whose function ``kernel``, a C++ text, calls."""
    return tuple(op for op in sorted(EXPANSIONS) if f"{prefix}{_cpp_name(op)}(" in kernel)


def _cpp_name(op: str) -> str:
    return "pow" if op == "math.powf" else op.removeprefix("math.")


@cache
def exact_math_text(operation: str) -> str:
    """C++ that defines ``void allo_math_exp(float x, float *r)`` and the like."""
    module = ir.Module.parse(_function(operation), make_context())
    with module.context, ir.Location.unknown():
        expand_math(module)
        return emit_module(module, _symbol(operation), VITIS_HLS).kernel


def _symbol(op: str) -> str:
    return "allo_math_" + op.removeprefix("math.")


def _function(op: str) -> str:
    names = ["x", "y"] if op in _TWO_OPERANDS else ["x"]
    params = ", ".join(f"%{n}: f32" for n in names)
    operands = ", ".join(f"%{n}" for n in names)
    quoted = ", ".join(f'"{n}"' for n in names)
    kinds = ", ".join('"f32"' for _ in names)
    return f"""
func.func @{_symbol(op)}({params}) -> f32 attributes {{arg_names = [{quoted}],
    arg_types = [{kinds}], res_types = ["f32"], itypes = "{"_" * len(names)}", otypes = "_"}} {{
  %r = {op} {operands} : f32
  return %r : f32
}}"""


def exact_math_object(
    operation: str,
    compile_object: Callable[[Path, Path], None],
    keys: Sequence[str],
) -> Path:
    """The compiled functions, from the cache or made now by ``compile_object(source, object)``."""
    text = exact_math_text(operation)

    def make(folder: Path) -> None:
        source = folder / "math.cpp"
        source.write_text(text)
        compile_object(source, folder / _OBJECT)

    return cached(("hls", "math"), content_key(text, *keys), [_OBJECT], make) / _OBJECT
