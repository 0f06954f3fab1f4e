"""The shared expansion of scalar functions: its error, its special values, and that hardware and
CPU agree to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from allo.backend.rtl.operators import OperatorLibrary
from allo.dialects._mlir import ir, make_context
from allo.dialects.passes.expand_math import EXPANSIONS, expand_math

from .accuracy import measure
from .functions import HostFunction, hardware_function
from .harness import CompiledUnit
from .samples import REFERENCE, SPECIAL, operand_pairs, operands, power

BOUND = {
    "math.exp": 0.75,
    "math.exp2": 0.65,
    "math.log": 0.55,
    "math.log2": 0.55,
    "math.log10": 0.55,
    "math.tanh": 1.5,
    "math.erf": 1.75,
    "math.rsqrt": 0.55,
    "math.sin": 0.7,
    "math.cos": 0.7,
    "math.tan": 1.6,
}
POWER_BOUND = 0.65


def check_function(op: str, count: int) -> None:
    """All elements of a sample, special values included."""
    host = HostFunction(op)
    rng = np.random.default_rng(count)
    for _ in range(max(1, count // 1_000_000)):
        x = operands(min(count, 1_000_000), rng)
        errors = measure(host(x), REFERENCE[op](x), x)
        assert errors.wrong == 0, errors.example
        assert errors.ulp <= BOUND[op], errors


def check_power(count: int) -> None:
    """The same for powf."""
    host = HostFunction("math.powf", 2)
    rng = np.random.default_rng(count)
    for _ in range(max(1, count // 1_000_000)):
        x, y = operand_pairs(min(count, 1_000_000), rng)
        errors = measure(host(x, y), power(x, y), x, y)
        assert errors.wrong == 0, errors.example
        assert errors.ulp <= POWER_BOUND, errors


def test_every_expansion_has_a_bound() -> None:
    assert set(BOUND) | {"math.powf"} == set(EXPANSIONS)
    assert max(BOUND.values()) <= 2.0


@pytest.mark.parametrize("op", BOUND)
def test_function_is_within_its_bound(op: str) -> None:
    check_function(op, 200_000)


@pytest.mark.slow
@pytest.mark.parametrize("op", BOUND)
def test_function_is_within_its_bound_on_ten_million(op: str) -> None:
    check_function(op, 10_000_000)


def test_power_is_within_its_bound() -> None:
    check_power(200_000)


@pytest.mark.slow
def test_power_is_within_its_bound_on_ten_million() -> None:
    check_power(10_000_000)


@pytest.mark.parametrize("op", BOUND)
def test_hardware_equals_cpu_bit_for_bit(op: str) -> None:
    x = operands(40_000, np.random.default_rng(1))
    unit = CompiledUnit(hardware_function(op, OperatorLibrary()).operator)
    found = unit(x.view(np.uint32)).astype(np.uint32)
    expected = HostFunction(op)(x).view(np.uint32)
    assert np.array_equal(found, expected)


def test_power_in_hardware_equals_cpu_bit_for_bit() -> None:
    x, y = operand_pairs(40_000, np.random.default_rng(2))
    unit = CompiledUnit(hardware_function("math.powf", OperatorLibrary(), 2).operator)
    found = unit(x.view(np.uint32), y.view(np.uint32)).astype(np.uint32)
    assert np.array_equal(found, HostFunction("math.powf", 2)(x, y).view(np.uint32))


def test_exact_cases_are_exact() -> None:
    whole = np.arange(-126, 128, dtype=np.float32)
    assert np.array_equal(
        HostFunction("math.exp2")(whole), np.ldexp(np.float32(1), whole.astype(int))
    )
    powers = np.ldexp(np.float32(1), whole.astype(int))
    assert np.array_equal(HostFunction("math.log2")(powers), whole)
    squares = np.ldexp(np.float32(1), np.arange(-126, 127, 2))
    assert np.array_equal(HostFunction("math.rsqrt")(squares), 1 / np.sqrt(squares))
    zeros = np.array([0.0, -0.0], dtype=np.float32)
    for op in ("math.tanh", "math.erf", "math.sin", "math.tan"):
        assert np.array_equal(HostFunction(op)(zeros).view(np.uint32), zeros.view(np.uint32))
    one = np.ones(1, dtype=np.float32)
    assert HostFunction("math.exp")(0 * one)[0] == 1.0
    assert HostFunction("math.log")(one).view(np.uint32)[0] == 0


@pytest.mark.parametrize("op", ["math.exp", "math.tanh", "math.erf"])
def test_increasing_functions_do_not_decrease(op: str) -> None:
    start = np.float32(0.2499).view(np.uint32)
    x = np.concatenate(
        [
            np.arange(int(start), int(start) + 20_000, dtype=np.uint32).view(np.float32),
            np.sort(operands(40_000, np.random.default_rng(4))),
        ]
    )
    x = np.sort(x[np.isfinite(x)])
    y = HostFunction(op)(x)
    slack = np.spacing(np.abs(y[:-1]))
    finite = np.isfinite(slack)
    assert np.all(y[1:][finite] >= (y[:-1] - 2 * slack)[finite])


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_narrow_floats_go_through_single(kind: str) -> None:
    text = (
        f"func.func @f(%x: {kind}) -> {kind} {{ %r = math.exp %x : {kind}\n return %r : {kind} }}"
    )
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        assert expand_math(module) == 1
        assert module.operation.verify()
        names = [
            op.operation.name for op in module.body.operations[0].regions[0].blocks[0].operations
        ]
    assert names.count("arith.extf") == names.count("arith.truncf") == 1
    assert not any(name.startswith("math.exp") for name in names)


def test_locations_and_other_operations_stay() -> None:
    text = """func.func @f(%x: f32) -> f32 {
      %s = math.sqrt %x : f32 loc("k.py":3:1)
      %r = math.exp %s : f32 loc("k.py":4:5)
      return %r : f32
    }"""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        assert expand_math(module) == 1
        assert expand_math(module) == 0
        block = module.body.operations[0].regions[0].blocks[0]
        made = [op for op in block.operations if op.operation.name.startswith("arith.")]
        assert {(op.location.start_line, op.location.start_col) for op in made} == {(4, 5)}
        assert "math.sqrt" in str(module)
    assert len(SPECIAL) > 40
