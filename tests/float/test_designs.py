"""Whole designs that use every float unit and function: RTL against the CPU build, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from allo.backend.cpu import build as build_cpu
from allo.backend.sim import build as build_rtl
from allo.target import BuildRequest

from .samples import SPECIAL

COUNT = 160
FUNCTIONS = {
    "exp": ["%r = math.exp %a : f32"],
    "log_tanh": ["%s = math.log %a : f32", "%r = math.tanh %s : f32"],
    "power": ["%r = math.powf %a, %b : f32"],
    "waves": [
        "%s = math.sin %a : f32",
        "%c = math.cos %b : f32",
        "%r = arith.divf %s, %c : f32",
    ],
    "gelu": [
        "%c0 = arith.constant 0.707106769 : f32",
        "%c1 = arith.constant 0.5 : f32",
        "%s = arith.mulf %a, %c0 : f32",
        "%e = math.erf %s : f32",
        "%h = arith.mulf %a, %c1 : f32",
        "%m = arith.mulf %h, %e : f32",
        "%r = arith.addf %h, %m : f32",
    ],
    "norm": [
        "%s = arith.mulf %a, %a : f32",
        "%t = arith.addf %s, %b : f32",
        "%q = math.rsqrt %t : f32",
        "%w = math.sqrt %t : f32",
        "%r = arith.subf %q, %w : f32",
    ],
    "constants": [
        "%c = arith.constant 260.0 : f32",
        "%h = arith.constant -0.125 : f32",
        "%p = arith.divf %a, %c : f32",
        "%q = arith.divf %b, %c : f32",
        "%s = arith.addf %p, %q : f32",
        "%t = arith.mulf %h, %s : f32",
        "%u = arith.divf %c, %t : f32",
        "%r = arith.divf %u, %b : f32",
    ],
    "wide": [
        "%x = arith.extf %a : f32 to f64",
        "%y = arith.extf %b : f32 to f64",
        "%p = arith.mulf %x, %y : f64",
        "%s = arith.addf %p, %x : f64",
        "%d = arith.divf %s, %y : f64",
        "%q = math.sqrt %d : f64",
        "%r = arith.truncf %q : f64 to f32",
    ],
    "whole": [
        "%v = arith.fptosi %a : f32 to i20",
        "%u = arith.fptoui %b : f32 to i9",
        "%x = arith.sitofp %v : i20 to f32",
        "%y = arith.uitofp %u : i9 to f32",
        "%l = arith.cmpf olt, %x, %y : f32",
        "%m = arith.maximumf %x, %b : f32",
        "%r = arith.select %l, %m, %y : f32",
    ],
}


def kernel(body: list[str]) -> str:
    """A pipelined loop that applies ``body`` to %a and %b, giving %r."""
    lines = "\n".join(body)
    kind = f"memref<{COUNT}xf32>"
    return f"""
    func.func @k(%A: {kind}, %B: {kind}, %C: {kind})
        attributes {{arg_names = ["A", "B", "C"], arg_types = ["f32", "f32", "f32"],
                    itypes = "___", otypes = "", res_types = []}} {{
      affine.for %i = 0 to {COUNT} {{
        %a = affine.load %A[%i] {{from = "A"}} : {kind}
        %b = affine.load %B[%i] {{from = "B"}} : {kind}
        {lines}
        affine.store %r, %C[%i] {{to = "C"}} : {kind}
      }} {{loop_name = "i", op_name = "S_i_0", pipeline_ii = 1 : ui32}}
      return
    }}"""


def inputs(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Special values against each other's shuffles, moderate numbers, and random bits."""
    rng = np.random.default_rng(seed)
    third = COUNT - 2 * len(SPECIAL)
    columns = []
    for _ in range(2):
        moderate = rng.normal(0, 8, len(SPECIAL)).astype(np.float32)
        anything = rng.integers(0, 1 << 32, third, dtype=np.uint32).view(np.float32)
        columns.append(np.concatenate([rng.permutation(SPECIAL), moderate, anything]))
    return columns[0], columns[1]


def canonical(values: np.ndarray) -> np.ndarray:
    """Bits, with the payload of NaN, which a host may choose, removed."""
    return np.where(np.isnan(values), np.uint32(0x7FC00000), values.view(np.uint32))


def check(name: str, simulator: str, runs: int) -> None:
    """RTL and CPU on the same arrays."""
    text = kernel(FUNCTIONS[name])
    hardware = build_rtl(BuildRequest(text, "k", "verilog", options={"simulator": simulator}))
    host = build_cpu(BuildRequest(text, "k", "llvm"))
    for seed in range(runs):
        a, b = inputs(seed)
        results = [np.zeros(COUNT, dtype=np.float32) for _ in range(2)]
        hardware(a.copy(), b.copy(), results[0])
        host(a.copy(), b.copy(), results[1])
        assert np.array_equal(canonical(results[0]), canonical(results[1]))
    assert hardware.cycles == hardware.report.cycles


@pytest.mark.parametrize("name", FUNCTIONS)
def test_design_equals_cpu_in_process(name: str) -> None:
    check(name, "jit", 20)


@pytest.mark.parametrize("name", ["gelu", "whole"])
def test_design_equals_cpu_in_verilator(name: str) -> None:
    check(name, "verilator", 20)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_design_equals_cpu_in_verilator(name: str) -> None:
    check(name, "verilator", 100)
