"""One unit for two sums of which one waits for the other: the bits of both, in fewer cycles."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.backend.rtl.float.constants.power import multiply_by_power
from allo.backend.rtl.float.constants.reciprocal import constant_of
from allo.backend.rtl.float.formats import FORMATS
from allo.backend.rtl.float.quick import paths
from allo.backend.rtl.float.quick.joint import Scaled, Sum
from allo.backend.rtl.graph.mapping.joint import joint_operator
from allo.backend.rtl.operators import OperatorLibrary
from allo.backend.rtl.operators.netlist import evaluate
from allo.backend.rtl.operators.request import Drawing, Request, drawn, unit
from allo.backend.rtl.plan.search import pipeline
from allo.ir.types import float16

from . import soft
from .harness import CompiledUnit, assert_same
from .vectors import from_host, operand_pairs, specials, to_host

LIBRARY = OperatorLibrary("ecp5", 100.0)
BYTES = np.arange(256, dtype=np.uint64)
PAIRS = [part.ravel()[::3] for part in np.meshgrid(BYTES, BYTES, indexing="ij")]
SMALL = FORMATS["f8E4M3"]


def rounded_at_once(kind=SMALL):
    drawing = Drawing("sum", lambda a, b: paths.add_by_paths(a, b, kind, flat=False, rounds=True))
    return unit(
        Request("arith.addf", (kind.name,) * 2, kind.name, {}, LIBRARY.device, 100.0), drawing
    )


def sums(a, b, kind=SMALL):
    return [soft.add(int(x), int(y), kind) for x, y in zip(a, b, strict=True)]


def test_sums_that_are_rounded_as_they_are_made():
    assert_same(CompiledUnit(rounded_at_once())(*PAIRS), sums(*PAIRS), *PAIRS)
    kind = FORMATS["f32"]
    a, b = operand_pairs(kind, 20_000, np.random.default_rng(1))
    with np.errstate(all="ignore"):
        wanted = from_host(to_host(a, kind) + to_host(b, kind), kind)
    assert_same(CompiledUnit(rounded_at_once(kind))(a, b), wanted, a, b)


def test_a_chain_without_what_rounds_up_is_found(monkeypatch):
    whole = paths.sum_with_carry

    def forgets(a, b, carry):
        return whole(a, b, carry if a.width > SMALL.precision else carry.net.const(0, 1))

    monkeypatch.setattr(paths, "sum_with_carry", forgets)
    found = CompiledUnit(rounded_at_once())(*PAIRS)
    assert (found != np.array(sums(*PAIRS), np.uint64)).any()


@pytest.mark.parametrize("sign", [0, 1])
def test_halves_in_front_of_other_operations(sign):
    """Of a NaN any NaN."""
    for name, step in (("f8E4M3", 1), ("f8E5M2", 1), ("f16", 61)):
        kind = FORMATS[name]
        by = kind.bias - 1 << kind.fraction | sign << kind.width - 1
        factor = constant_of(by, kind)
        net = drawn(lambda a: multiply_by_power(a, factor, kind, canonical=False), (kind.width,))
        for a in range(0, 1 << kind.width, step):
            found, wanted = evaluate(net, {"a": a}), soft.multiply(a, by, kind)
            if wanted == kind.nan:
                assert found & (1 << kind.width - 1) - 1 > kind.top_exponent << kind.fraction
            else:
                assert found == wanted, hex(a)


def joint(tree, operands, name, most):
    return joint_operator(tree, operands, name, most, LIBRARY.device, LIBRARY.clock_mhz)


def two_differences(name, half, cycles):
    """The unit for a - b / 2 - c, and its results and the host's."""
    kind = FORMATS[name]
    tree = Sum(Sum(0, Scaled(1, half), minus=True), 2, minus=True)
    found = joint(tree, 3, name, cycles)
    assert found is not None and found.latency == cycles
    assert joint(tree, 3, name, cycles - 1) is None
    rng = np.random.default_rng(2)
    a, b = operand_pairs(kind, 20_000, rng)
    c = np.concatenate([specials(kind), operand_pairs(kind, 20_000, rng)[0]])
    c = rng.permutation(np.resize(c, len(a)))
    large = np.uint64((kind.top_exponent ^ 1) << kind.fraction)
    b[::5], c[::7] = b[::5] & ~large, c[::7] & ~large
    x, y, z = (to_host(part, kind) for part in (a, b, c))
    with np.errstate(all="ignore"):
        wanted = from_host((x - y.dtype.type(0.5) * y) - z, kind)
    return found, wanted, (a, b, c)


def test_two_differences_behind_a_half_are_the_hosts():
    unit, wanted, operands = two_differences("f16", 0x3800, 5)
    assert_same(CompiledUnit(unit)(*operands), wanted, *operands)


def test_two_differences_of_float32_are_the_hosts_in_six_cycles():
    unit, wanted, operands = two_differences("f32", 0x3F000000, 6)
    for how in ("rtl", "native"):
        assert_same(CompiledUnit(unit, how)(*operands), wanted, *operands)


def alternating(x: float16[16], z: float16[16], y: float16[16]):
    last: float16 = 1
    for i in range(16):
        last = x[i] - last - z[i]
        y[i] = last


def run(clock_mhz):
    schedule = allo.customize(alternating)
    schedule.pipeline("i")
    x, z = (np.random.default_rng(n).standard_normal(16).astype(np.float16) for n in (3, 4))
    found, wanted = np.zeros(16, np.float16), np.zeros(16, np.float16)
    schedule.build()(x, z, wanted)
    built = schedule.build(target="verilog", device="ecp5", clock_mhz=clock_mhz, simulator="jit")
    built(x, z, found)
    assert np.array_equal(found, wanted)
    assert built.report.cycles == built.report.measured_cycles
    return built.report


def test_a_loop_that_waits_for_two_sums_gets_the_unit(monkeypatch):
    joined = run(60)
    monkeypatch.setattr(pipeline, "join", lambda *_: None)
    apart = run(60)
    assert joined.float_ops == apart.float_ops == 2 * 16
    (joined,), (apart,) = joined.functions, apart.functions
    assert (joined.loops[0].ii, apart.loops[0].ii) == (3, 4)
    assert joined.operators == {"fadd_sub_a_b_c_f16_fast": 1}
    assert apart.operators == {"fadd_f16_fast": 1}
