"""Allo: an accelerator design language and HLS compiler in Python."""

from __future__ import annotations

import importlib
from typing import Any

from .customize import customize
from .dsl import (
    abs,
    add,
    bmm,
    concat,
    conv2d,
    copy,
    cos,
    div,
    erf,
    exp,
    gelu,
    get_pid,
    grid,
    layernorm,
    linear,
    log,
    log2,
    log10,
    matmul,
    maxpool,
    mul,
    ones,
    popcount,
    power,
    reduction,
    relu,
    rsqrt,
    sin,
    softmax,
    sqrt,
    sub,
    sumpool,
    tan,
    tanh,
    transpose,
    tril,
    view,
    zeros,
)
from .interpret import interpret
from .memory import Layout, Memory
from .template import meta_elif, meta_else, meta_for, meta_if

__version__ = "0.2.0"

_LAZY = {
    "IPModule": "allo.external:IPModule",
    "Partition": "allo.dialects.core.partition:Partition",
    "LLVMModule": "allo.backend.cpu:LLVMModule",
    "HLSModule": "allo.backend.hls:HLSModule",
    "autoschedule": "allo.explore:autoschedule",
    "sweep": "allo.explore:sweep",
    "verify": "allo.equivalence:verify",
    "quantize": "allo.torch.quantize:quantize",
    "invoke_mlir_parser": "allo.ir.utils:invoke_mlir_parser",
}
_SUBMODULES = (
    "autoscheduler",
    "backend",
    "boards",
    "errors",
    "frontend",
    "ir",
    "library",
    "memory",
    "passes",
    "primitives",
    "template",
    "utils",
)


def __getattr__(name: str) -> Any:
    """Import what needs MLIR or a back end only when it is asked for."""
    if name in _LAZY:
        module, attribute = _LAZY[name].split(":")
        value = getattr(importlib.import_module(module), attribute)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return importlib.import_module(f"allo.{name}")
    unknown_attribute = importlib.import_module("allo.dialects.text.near").unknown_attribute
    raise unknown_attribute("allo", name, [*_LAZY, *_SUBMODULES, *globals()])


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_SUBMODULES})


__all__ = [
    "HLSModule",
    "IPModule",
    "LLVMModule",
    "Layout",
    "Memory",
    "Partition",
    "abs",
    "add",
    "autoschedule",
    "bmm",
    "concat",
    "conv2d",
    "copy",
    "cos",
    "customize",
    "div",
    "erf",
    "exp",
    "gelu",
    "get_pid",
    "grid",
    "interpret",
    "invoke_mlir_parser",
    "layernorm",
    "linear",
    "log",
    "log10",
    "log2",
    "matmul",
    "maxpool",
    "meta_elif",
    "meta_else",
    "meta_for",
    "meta_if",
    "mul",
    "ones",
    "popcount",
    "power",
    "quantize",
    "reduction",
    "relu",
    "rsqrt",
    "sin",
    "softmax",
    "sqrt",
    "sub",
    "sumpool",
    "sweep",
    "tan",
    "tanh",
    "transpose",
    "tril",
    "verify",
    "view",
    "zeros",
]
