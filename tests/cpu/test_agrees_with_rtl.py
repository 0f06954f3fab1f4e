"""CPU and RTL give the same bits, also on operands for which MLIR alone promises nothing."""

from __future__ import annotations

import numpy as np
import pytest

from allo.backend.cpu import LLVMModule
from allo.backend.sim import build as build_rtl
from allo.dialects.boundary.storage import natural_dtype
from allo.dialects.types import parse_type
from allo.target import BuildRequest

from .kernels import elementwise
from .test_floats import FORMATS, floats, same
from .test_integers import MODELS, cells, operands

COUNT = 120


def results_of(
    inputs: dict[str, tuple[str, np.ndarray]], outputs: dict[str, tuple[str, str]]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """What CPU and RTL store into each output."""
    count = len(next(iter(inputs.values()))[1])
    text = elementwise({name: declared for name, (declared, _) in inputs.items()}, outputs, count)
    hardware = build_rtl(BuildRequest(text, "f", "verilog", options={"simulator": "jit"}))
    found = []
    for module in (LLVMModule(text, "f"), hardware):
        arrays = {
            name: cells([0] * count, declared)
            if declared[0] in "iu"
            else np.zeros(count, natural_dtype(parse_type(declared)))
            for name, (declared, _) in outputs.items()
        }
        module(*(values.copy() for _, values in inputs.values()), *arrays.values())
        found.append(arrays)
    return found[0], found[1]


@pytest.mark.parametrize("bits", [1, 7, 9])
def test_integer_operations_on_every_edge(bits: int):
    declared = f"ui{bits}"
    operations = [op for op in MODELS if not op.startswith("ceildiv")]
    outputs = {op: (declared, f"%{op} = arith.{op} %a, %b : i{bits}") for op in operations}
    a, b = operands(bits, bits)
    given = {"a": (declared, cells(a, declared)), "b": (declared, cells(b, declared))}
    cpu, rtl = results_of(given, outputs)
    for op in operations:
        np.testing.assert_array_equal(cpu[op], rtl[op], err_msg=op)


@pytest.mark.parametrize("name", FORMATS)
def test_float_operations_and_conversions(name: str):
    outputs = {
        op: (name, f"%{op} = arith.{op} %a, %b : {name}")
        for op in ("addf", "subf", "mulf", "divf", "minimumf", "maximumf")
    }
    outputs |= {
        p: ("ui1", f"%{p} = arith.cmpf {p}, %a, %b : {name}") for p in ("olt", "oeq", "une", "uno")
    }
    outputs |= {
        "s": ("i33", f"%s = arith.fptosi %a : {name} to i33"),
        "u": ("ui12", f"%u = arith.fptoui %a : {name} to i12"),
        "f": (name, f"%f = arith.sitofp %c : i33 to {name}"),
    }
    given = {
        "a": (name, floats(name, 1, COUNT)),
        "b": (name, floats(name, 2, COUNT)[::-1].copy()),
        "c": ("i33", cells(operands(33, 3)[0][:COUNT], "i33")),
    }
    cpu, rtl = results_of(given, outputs)
    for op, (declared, _) in outputs.items():
        if declared == name:
            assert same(cpu[op], rtl[op]), op
        else:
            np.testing.assert_array_equal(cpu[op], rtl[op], err_msg=op)
