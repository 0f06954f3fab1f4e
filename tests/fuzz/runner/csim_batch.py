"""csim kernels of many programs in one translation unit, each in a namespace of its own."""

from __future__ import annotations

import re
from pathlib import Path

import allo.backend.hls.csim.build as csim
from allo.backend.hls.csim.exact_math import exact_math_object, expanded_functions
from allo.backend.hls.csim.prelude import PRELUDES, XILINX, runtime_object
from allo.backend.hls.module import HLSModule
from allo.dialects.boundary.stream_arrays import filled_streams, with_stream_arrays

from .native import Numbered, with_numbered_entries

_INCLUDE = re.compile(r"^\s*#include .*$", re.MULTILINE)


def attach_csim(modules: list[HLSModule], folder: Path) -> None:
    """Compile the modules together and give each its kernel; the optimiser stays off."""
    texts, objects = [], {runtime_object()}
    simulations, streams = [], []
    for number, module in enumerate(modules):
        code, vendor = module.csim_code(), module.vendor.for_csim
        text = _INCLUDE.sub("", f"{code.kernel}\n{csim.wrapper_text(code, vendor)}")
        text = with_numbered_entries(text, number)
        texts.append(f"namespace fuzz_{number} {{\n{text}\n}}\n")
        simulations.append(code.simulation)
        streams.append(filled_streams(module.module, module.signature))
        for operation in expanded_functions(code.kernel, vendor.math):
            keys = [XILINX.key()]
            objects.add(exact_math_object(operation, csim._compile_object, keys))
    source, library = folder / "csim.cpp", folder / "kernels.so"
    source.write_text("\n".join(texts))
    arguments = ["-shared", str(source), *map(str, sorted(objects))]
    PRELUDES["xilinx"].compile(arguments, library, "Compiling a batch of kernels for csim")
    load = csim._load_private
    try:
        for number, module in enumerate(modules):
            own = Numbered(library, number)
            csim._load_private = lambda _, own=own: own  # type: ignore[assignment, misc]
            fills = streams[number]
            signature = with_stream_arrays(module.signature, fills)
            module._kernel = csim.CsimKernel(signature, library, simulations[number], list(fills))
    finally:
        csim._load_private = load
