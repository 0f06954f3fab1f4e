"""Runs core IR on the RTL build and on the CPU build and compares every bit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from allo.backend.cpu import build as build_cpu
from allo.backend.rtl.read.records import MemType, element_width, read_program
from allo.backend.sim import RTLModule
from allo.backend.sim import build as build_rtl
from allo.dialects.core.parse import parse_module
from allo.target import BuildRequest

FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def random_arguments(text: str, top: str, rng: np.random.Generator) -> list[Any]:
    """Random arguments of a function: all bit patterns of integers, floats of mixed sizes."""
    record = read_program(parse_module(text), top).functions[top]
    values = []
    for kind, declared in zip(record.arg_types, record.attrs["arg_types"], strict=True):
        shape = kind.shape if isinstance(kind, MemType) else ()
        element = kind.element if isinstance(kind, MemType) else str(kind)
        value = random_array(element, declared, shape, rng)
        values.append(value if isinstance(kind, MemType) else value.item())
    return values


def random_array(element: str, declared: str, shape: tuple[int, ...], rng: Any) -> np.ndarray:
    """Random elements of one type."""
    if element in FLOATS:
        exponent = rng.integers(-30, 30, shape)
        return np.ldexp(rng.standard_normal(shape), exponent).astype(FLOATS[element])
    width = 3 if element == "index" else element_width(element)
    unsigned = declared.startswith("ui") or element == "index"
    bits = next(size for size in (8, 16, 32, 64) if width <= size)
    low, high = (0, (1 << width) - 1) if unsigned else (-(1 << width - 1), (1 << width - 1) - 1)
    kind = np.dtype(f"{'u' if unsigned else ''}int{bits}")
    return rng.integers(low, high, shape, dtype=kind, endpoint=True)


def bits(value: Any) -> bytes:
    """The bytes of a result."""
    return np.asarray(value).tobytes()


def compare(
    text: str, top: str, *, runs: int = 2, seed: int = 0, simulator: str = "jit", **options: Any
) -> RTLModule:
    """Run both builds on random inputs; equal bits, and cycles as predicted."""
    rtl = build_rtl(BuildRequest(text, top, "verilog", options={"simulator": simulator, **options}))
    cpu = build_cpu(BuildRequest(text, top, "llvm"))
    rng = np.random.default_rng(seed)
    for _ in range(runs):
        ours = random_arguments(text, top, rng)
        theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in ours]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got, want = rtl(*ours), cpu(*theirs)
        for position, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            if isinstance(a, np.ndarray):
                assert bits(a) == bits(b), f"argument {position}: {a} is not {b}"
        if want is not None:
            assert bits(got) == bits(np.asarray(want, np.asarray(got).dtype)), f"{got}, {want}"
        if rtl.report.cycles is not None:
            assert rtl.cycles == rtl.report.cycles
    return rtl


def function(
    body: str, arguments: dict[str, tuple[str, str]], result: tuple[str, str] | None = None
):
    """A module with one function ``f``: arguments are name -> (MLIR type, declared type)."""
    args = ", ".join(f"%{name}: {kind}" for name, (kind, _) in arguments.items())
    names = ", ".join(f'"{name}"' for name in arguments)
    types = ", ".join(f'"{declared}"' for _, declared in arguments.values())
    letters = "".join("u" if d.startswith("ui") else "s" for _, d in arguments.values())
    res = f'"{result[1]}"' if result else ""
    returned = f" -> {result[0]}" if result else ""
    return (
        f"module {{\nfunc.func @f({args}){returned} attributes {{arg_names = [{names}], "
        f'arg_types = [{types}], itypes = "{letters}", otypes = "{"s" if result else ""}", '
        f"res_types = [{res}]}} {{\n{body}\n}}\n}}"
    )
