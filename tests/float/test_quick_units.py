"""Units for loops that wait for them, in fewer cycles: sums in one or two paths, and more."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import allo
from allo.backend.rtl.float.add import aligned
from allo.backend.rtl.float.formats import FORMATS
from allo.backend.rtl.float.quick import one_path, paths
from allo.backend.rtl.operators import OperatorLibrary
from allo.backend.rtl.operators.request import SYNTHESIS, Drawing, Request, drawn, unit
from allo.backend.rtl.operators.timing import live_nodes, total_resources
from allo.ir.types import float32, int32

from . import soft
from .flushing import expected, tiny_pairs
from .harness import CompiledUnit, assert_same, run_operator
from .vectors import from_host, operand_pairs, specials, to_host

KEEP, FLUSH = (OperatorLibrary("xcup", 300.0, how) for how in ("keep", "flush"))
BYTES = np.arange(256, dtype=np.uint64)
PAIRS = [part.ravel() for part in np.meshgrid(BYTES, BYTES, indexing="ij")]


def quick(library, op, name, **more):
    return library.find(op, (name, name), name, {"impl": "fast", **more})


def test_sums_of_all_pairs_of_small_formats():
    kind = FORMATS["f8E4M3"]
    found = CompiledUnit(quick(KEEP, "arith.addf", kind.name))(*PAIRS)
    assert_same(found, [soft.add(a, b, kind) for a in range(256) for b in range(256)], *PAIRS)
    kind = replace(FORMATS["f8E5M2"], flush=True)
    found = CompiledUnit(quick(FLUSH, "arith.addf", kind.name))(*PAIRS)
    assert_same(found, expected(soft.add, kind, *PAIRS), *PAIRS)


def host_sums(name, op, model, cycles):
    """Sums of the hardware and of the host."""
    kind, unit = FORMATS[name], quick(KEEP, op, name)
    assert unit.latency == cycles < KEEP.find(op, (name, name), name).latency
    a, b = operand_pairs(kind, 30_000, np.random.default_rng(1))
    with np.errstate(all="ignore"):
        wanted = from_host(model(to_host(a, kind), to_host(b, kind)), kind)
    assert_same(CompiledUnit(unit)(a, b), wanted, a, b)


def test_sums_are_the_hosts_in_two_cycles():
    host_sums("f16", "arith.subf", np.subtract, 2)
    host_sums("f32", "arith.addf", np.add, 2)


def test_sums_of_float64_are_the_hosts():
    host_sums("f64", "arith.subf", np.subtract, 3)


def test_flushed_sums_are_those_of_the_definition():
    kind = replace(FORMATS["f32"], flush=True)
    a, b = operand_pairs(kind, 1500, np.random.default_rng(2))
    unit = quick(FLUSH, "arith.subf", "f32")
    assert unit.latency == 2
    assert_same(CompiledUnit(unit)(a, b), expected(soft.subtract, kind, a, b), a, b)


def one_path_unit(name, flush, add=one_path.add_in_one_path):
    """A sum in one path, or as ``add`` draws it."""
    kind = replace(FORMATS[name], flush=flush)
    drawing = Drawing("sum", lambda a, b: add(a, b, kind))
    return unit(Request("arith.addf", (name, name), name, {}, KEEP.device, 100.0, flush), drawing)


def one_path_pairs(*pairs, flush=True, **how):
    """What a sum of bytes in one path makes of pairs, and what it should."""
    kind = replace(FORMATS["f8E4M3"], flush=flush)
    wanted = [soft.add(int(a), int(b), kind) for a, b in zip(*pairs, strict=True)]
    if flush:
        wanted = expected(soft.add, kind, *pairs)
    add = partial(one_path.add_in_one_path, **how)
    return CompiledUnit(one_path_unit(kind.name, flush, add))(*pairs), wanted


@pytest.mark.parametrize(("flush", "joined"), [(False, False), (True, False), (True, True)])
def test_sums_in_one_path_of_every_third_pair_of_bytes(flush, joined):
    pairs = [part[::3] for part in PAIRS]
    assert_same(*one_path_pairs(*pairs, flush=flush, joined=joined), *pairs)


def test_flushed_sums_in_two_paths_whose_zeros_fill_their_bits():
    """Three places of four may be lost: the number of them has no value to spare."""
    kind, pairs = replace(FORMATS["f8E5M2"], flush=True), [part[::3] for part in PAIRS]
    unit = one_path_unit(kind.name, True, paths.add_by_paths)
    assert_same(CompiledUnit(unit)(*pairs), expected(soft.add, kind, *pairs), *pairs)


def test_sums_of_float64_in_one_path_are_the_hosts():
    kind = FORMATS["f64"]
    a, b = operand_pairs(kind, 10_000, np.random.default_rng(6))
    with np.errstate(all="ignore"):
        wanted = from_host(to_host(a, kind) + to_host(b, kind), kind)
    assert_same(CompiledUnit(one_path_unit("f64", False))(a, b), wanted, a, b)


def test_a_sum_in_one_path_that_forgets_lost_bits_is_found(monkeypatch):
    def forgets(value, distance):
        return aligned(value, distance)[0], value.net.const(0, 1)

    monkeypatch.setattr(one_path, "aligned", forgets)
    found, wanted = one_path_pairs(*(part[::31] for part in PAIRS))
    assert (found != wanted).any()


@pytest.mark.parametrize("how", ["keep", "flush"])
def test_sums_take_no_more_tables_than_their_cycles_need(how):
    """At the lower clock one path has as many cycles as two, so the quick unit is drawn so."""
    few, many = (
        quick(OperatorLibrary("ecp5", clock, how), "arith.subf", "f32") for clock in (50.0, 100.0)
    )
    assert (few.latency, many.latency) == (2, 3)
    kind = replace(FORMATS["f32"], flush=how == "flush")
    net = drawn(lambda a, b: paths.subtract_by_paths(a, b, kind), (32, 32))
    apart = SYNTHESIS * total_resources(net, live_nodes(net)).lut
    assert few.resources.lut < 0.75 * apart and few.resources.lut < many.resources.lut
    a, b = operand_pairs(kind, 500, np.random.default_rng(4))
    if kind.flush:
        c, d = tiny_pairs(kind, 200, 5)
        a, b = np.concatenate([a, c]), np.concatenate([b, d])
        wanted = expected(soft.subtract, kind, a, b)
    else:
        wanted = [soft.subtract(int(x), int(y), kind) for x, y in zip(a, b, strict=True)]
    assert_same(CompiledUnit(few)(a, b), wanted, a, b)


@pytest.mark.parametrize("places", [1, 2, 3])
def test_products_by_powers_of_two_of_all_bytes(places):
    for name in ("f8E4M3", "f8E5M2"):
        kind = FORMATS[name]
        for sign in (0, 1 << kind.width - 1):
            by = kind.bias - places << kind.fraction | sign
            if places > kind.fraction:
                continue
            for library, model in ((KEEP, kind), (FLUSH, replace(kind, flush=True))):
                unit = quick(library, "arith.mulf", name, constants=(by, None))
                assert (unit.name, unit.latency) == (f"fmul_{model.label}_by0x{by:02x}", 0)
                found = np.array([run_operator(unit, (by, a)) for a in range(256)], np.uint64)
                factor = np.full(256, by, np.uint64)
                wanted = [soft.multiply(a, by, kind) for a in range(256)]
                if model.flush:
                    wanted = expected(soft.multiply, model, BYTES, factor)
                assert_same(found, wanted, BYTES)


def test_a_half_is_multiplied_within_the_cycle_and_other_constants_are_not():
    kind = FORMATS["f32"]
    half, third = (int(np.float32(value).view(np.uint32)) for value in (0.5, 1 / 3))
    unit = quick(KEEP, "arith.mulf", "f32", constants=(None, half))
    values = np.concatenate([specials(kind), operand_pairs(kind, 600, np.random.default_rng(3))[0]])
    found = np.array([run_operator(unit, (int(a), half)) for a in values], np.uint64)
    with np.errstate(all="ignore"):
        assert_same(found, from_host(to_host(values, kind) * np.float32(0.5), kind), values)
    assert quick(KEEP, "arith.mulf", "f32", constants=(None, third)).name == "fmul_f32_fast"


def kernels(A: float32[16], B: float32[16], R: float32[6]) -> float32:
    total: float32 = 0
    for i in range(16):
        total += A[i]
    R[0] = total
    kept: float32 = 1
    for j in range(16):
        if A[j] > 0:
            kept = kept * A[j]
    R[1] = kept
    even: float32 = 0
    odd: float32 = 0
    for k in range(16):
        even, odd = odd - B[k], even * 0.5
    R[2] = even
    R[3] = odd
    best: float32 = A[0]
    at: int32 = 0
    for m in range(1, 16):
        if A[m] > best:
            best = A[m]
            at = m
    R[4] = best
    R[5] = at
    last: float32 = 0
    for n in range(16):
        last = last + B[n]
        if last > 3:
            break
    return last


def test_loops_that_take_results_past_registers_keep_their_values():
    s = allo.customize(kernels)
    for loop in ("i", "j", "k", "m", "n"):
        s.pipeline(loop)
    rng = np.random.default_rng(4)
    A, B = (rng.standard_normal(16).astype(np.float32) for _ in range(2))
    wanted, found = np.zeros(6, np.float32), np.zeros(6, np.float32)
    result = s.build()(A, B, wanted)
    module = s.build(target="verilog", clock_mhz=300, simulator="jit")
    assert module(A, B, found) == result
    assert np.array_equal(found, wanted)
    assert {loop.name[-1]: loop.ii for loop in module.report.functions[0].loops}["i"] == 2
