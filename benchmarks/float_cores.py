"""Float units that are measured beside AMD's cores, and what is known of these."""

from __future__ import annotations

from dataclasses import dataclass

KEEP, FLUSH = "keep", "flush"


@dataclass(frozen=True, slots=True)
class Unit:
    """A function of floats.

    Attributes:
        name: of the rows.
        op: of the core IR, with its types.
        latencies: that are measured.
        treatments: of subnormals; conversions to and from integers and 16-bit formats have one.
        attributes: of the request.
    """

    name: str
    op: str
    operands: tuple[str, ...]
    result: str
    latencies: tuple[int, ...]
    treatments: tuple[str, ...] = (KEEP, FLUSH)
    attributes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Core:
    """A core of AMD: lookup tables, flip-flops, multiplier blocks, and the clock at which it was closed."""

    lut: int
    ff: int
    dsp: int
    mhz: int


def _binary(name: str, op: str, kind: str, *latencies: int, flush: bool = True) -> Unit:
    treatments = (KEEP, FLUSH) if flush else (KEEP,)
    return Unit(f"{name}.{kind}", op, (kind, kind), kind, latencies, treatments)


def _unary(name: str, op: str, source: str, result: str, *latencies: int) -> Unit:
    return Unit(f"{name}.{source}.{result}", op, (source,), result, latencies, (KEEP,))


UNITS = (
    _binary("add", "arith.addf", "f32", 1, 2, 3, 4, 5, 6, 7),
    _binary("mul", "arith.mulf", "f32", 1, 2, 3, 4, 5),
    _binary("div", "arith.divf", "f32", 10, 11),
    Unit("less.f32", "arith.cmpf", ("f32", "f32"), "i1", (1,), attributes=(("predicate", "olt"),)),
    _unary("from_int", "arith.sitofp", "i32", "f32", 1, 2, 3, 4),
    _unary("to_int", "arith.fptosi", "f32", "i32", 1, 2, 3, 4),
    _binary("add", "arith.addf", "bf16", 1, 2, 3, 4, 5, flush=False),
    _binary("mul", "arith.mulf", "bf16", 1, 2, 3, flush=False),
    _binary("add", "arith.addf", "f64", 2, 3, 4, 5, 6, 7, 14),
    _binary("mul", "arith.mulf", "f64", 3, 4, 5, 6, 9, 10),
    _binary("add", "arith.addf", "f16", 1, 2, 3, 4, flush=False),
    _binary("mul", "arith.mulf", "f16", 1, 2, 3, flush=False),
    _binary("div", "arith.divf", "f64", 20),
    _binary("div", "arith.divf", "f16", 6, flush=False),
    _binary("div", "arith.divf", "bf16", 5, flush=False),
    Unit("sqrt.f32", "math.sqrt", ("f32",), "f32", (8, 10)),
    Unit("sqrt.f64", "math.sqrt", ("f64",), "f64", (20,)),
    Unit("sqrt.f16", "math.sqrt", ("f16",), "f16", (5,), (KEEP,)),
    Unit("sqrt.bf16", "math.sqrt", ("bf16",), "bf16", (4,), (KEEP,)),
    *(
        Unit(
            f"less.{kind}", "arith.cmpf", (kind, kind), "i1", (1,), (KEEP,), (("predicate", "olt"),)
        )
        for kind in ("f64", "f16", "bf16")
    ),
    _unary("from_int", "arith.sitofp", "i64", "f64", 3),
    _unary("to_int", "arith.fptosi", "f64", "i64", 3),
    _unary("widen", "arith.extf", "f32", "f64", 1),
    _unary("narrow", "arith.truncf", "f64", "f32", 1, 2),
    _unary("widen", "arith.extf", "f16", "f32", 1),
    _unary("narrow", "arith.truncf", "f32", "f16", 1),
    _unary("narrow", "arith.truncf", "f32", "bf16", 1),
)
AMD = {
    "add.f32": {
        1: Core(392, 33, 0, 203),
        2: Core(382, 75, 0, 326),
        3: Core(385, 152, 0, 425),
        5: Core(383, 242, 0, 439),
        7: Core(270, 238, 2, 432),
    },
    "mul.f32": {
        1: Core(79, 33, 2, 264),
        2: Core(81, 51, 2, 376),
        3: Core(80, 94, 2, 473),
        4: Core(115, 109, 2, 570),
    },
    "div.f32": {10: Core(805, 478, 0, 371)},
    "less.f32": {1: Core(63, 2, 0, 610)},
    "add.f64": {
        3: Core(726, 282, 0, 360),
        4: Core(735, 355, 0, 430),
        6: Core(735, 542, 0, 519),
        14: Core(811, 872, 3, 575),
    },
    "mul.f64": {
        3: Core(135, 133, 7, 347),
        5: Core(155, 184, 7, 389),
        9: Core(262, 397, 7, 498),
    },
    "add.bf16": {4: Core(199, 118, 0, 537)},
    "mul.bf16": {2: Core(60, 34, 1, 521)},
    "from_int.i32.f32": {3: Core(169, 99, 0, 490)},
    "to_int.f32.i32": {3: Core(183, 127, 0, 678)},
}
"""By unit and latency: cores between registers, placed and routed by Vivado on UltraScale+ -2L, as an
independent project published them in 2026. Subnormals are flushed in all of them."""


def wanted(unit: Unit) -> list[tuple[int, str]]:
    """Latencies and treatments of subnormals of a unit's rows."""
    return [(latency, how) for how in unit.treatments for latency in unit.latencies]


def key_of(unit: str, latency: int, subnormals: str) -> str:
    """What the figures of a row are called, without the last word."""
    return f"float_units.{unit}.l{latency}.{subnormals}"
