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
from allo.dialects.cache import cache_dir, content_key, publishing
from allo.dialects.passes.expand_math import EXPANSIONS, expand_math

from .emit_module import emit_module
from .vendors import VITIS_HLS

_TWO_OPERANDS = frozenset({"math.powf"})


def exact_functions() -> list[str]:
    """The C++ names of the functions there is an expansion of."""
    return ["pow" if op == "math.powf" else op.removeprefix("math.") for op in EXPANSIONS]


@cache
def exact_math_text() -> str:
    """C++ that defines ``void allo_math_exp(float x, float *r)`` and the like."""
    names = sorted(EXPANSIONS)
    module = ir.Module.parse("\n".join(map(_function, names)), make_context())
    with module.context, ir.Location.unknown():
        expand_math(module)
        return emit_module(module, _symbol(names[0]), VITIS_HLS).kernel


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


def exact_math_object(compile_object: Callable[[Path, Path], None], keys: Sequence[str]) -> Path:
    """The compiled functions, from the cache or made now by ``compile_object(source, object)``."""
    text = exact_math_text()
    target = cache_dir("hls", "math") / content_key(text, *keys)
    found = target / "math.o"
    if found.is_file():
        return found
    with publishing(target) as folder:
        source = folder / "math.cpp"
        source.write_text(text)
        compile_object(source, folder / "math.o")
    return found
