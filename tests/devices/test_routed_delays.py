"""Structures between registers as both models time them, beside what Vivado's router measured.

The routed figures are those of an independent project (2026): out of context, register to structure to
register with every register kept. They are without the ``floor``, what a register followed by a register
takes. 7 series is of speed grade -1, UltraScale+ of -2L. Whole cores of AMD on UltraScale+ are beside our
flattest drawing of the same sum: nothing of it was measured but the clock at which each core closes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from allo.backend import devices
from allo.backend.devices import OperatorDelays, family
from allo.backend.rtl.float.formats import FORMATS
from allo.backend.rtl.float.quick.paths import add_by_paths
from allo.backend.rtl.netlist.modules import Netlist as Modules
from allo.backend.rtl.operators import OperatorLibrary
from allo.backend.rtl.operators.modules import pipelined_module
from allo.backend.rtl.operators.netlist import Netlist, Signal, mux
from allo.backend.rtl.operators.pipeline import pipeline
from allo.backend.rtl.operators.request import drawn
from allo.backend.rtl.operators.tables.words import Mapper, latest
from allo.backend.rtl.plan.timing_model import TimingModel
from allo.backend.rtl.resources.design import module_resources
from allo.errors import DeviceError
from benchmarks.float_units import estimated_mhz
from tests.netlist.reader import read_netlist

WITHIN = 0.15
WIDTHS = (8, 16, 32, 64, 128)
SOURCES = (2, 4, 8, 16, 40)


@dataclass(frozen=True)
class Routed:
    """What was routed on one family.

    Attributes:
        rows: by operation, nanoseconds by width. Wider products are cut into parts that are registered; no
            product of one piece is built.
        choices: of 32 bits among so many sources with a select each.
        memory: to the word of a block of RAM, and to its ports.
        looser: (row, width) and how far the estimate and the schedule may be from it.
        apart: how far estimate and schedule may be from one another, where not :data:`WITHIN`.
    """

    floor: float
    rows: dict[str, tuple[float, ...]]
    choices: tuple[float, ...]
    memory: tuple[float, float]
    looser: dict[tuple[str, int], tuple[float, float]] = field(default_factory=dict)
    apart: dict[tuple[str, int], float] = field(default_factory=dict)

    def limits(self, row: str, size: int) -> tuple[float, float, float]:
        """How far the estimate and the schedule may be from the routed time, and from one another."""
        estimate, schedule = self.looser.get((row, size), (WITHIN, WITHIN))
        return estimate, schedule, self.apart.get((row, size), WITHIN)


PRODUCT = 0.35
"""The scheduler's units keep the registers of a product in its block, where no wires lie. The measured
structure has them outside, and so has what the estimate times here."""
SERIES_7 = Routed(
    floor=1.086,
    rows={
        "add": (2.325, 2.480, 2.936, 3.848, 5.650),
        "less": (2.036, 2.284, 2.438, 2.789, 3.701),
        "minimum": (3.46, 3.64, 4.17, 5.01, 5.91),
        "xor": (1.40, 1.46, 1.46, 1.46, 1.46),
        "select": (1.74, 1.98, 2.09, 2.09, 2.22),
        "shl": (2.45, 3.38, 4.34, 5.13, 7.00),
        "shru": (2.85, 3.69, 4.57, 6.26, 6.62),
        "mul": (5.08, 5.62),
    },
    choices=(1.12, 2.61, 2.61, 3.51, 4.58),
    memory=(3.427, 1.390),
    looser={
        ("mul", 8): (WITHIN, PRODUCT), ("mul", 16): (WITHIN, PRODUCT),
        # two sources were routed faster than one table with its wires, and four as slow as eight
        ("choice", 2): (0.35, 0.35), ("choice", 4): (0.20, 0.23), ("choice", 8): (0.20, WITHIN),
    },
    apart={
        ("mul", 8): PRODUCT, ("mul", 16): PRODUCT, ("choice", 4): 0.36, ("choice", 8): 0.16,
    },
)  # fmt: skip
ULTRASCALE = Routed(
    floor=0.419,
    rows={
        "add": (0.671, 0.818, 0.916, 1.057, 1.669),
        "less": (0.656, 0.717, 0.791, 0.873, 1.329),
        "minimum": (0.98, 1.33, 1.56, 1.56, 1.84),
        "xor": (0.44, 0.47, 0.49, 0.50, 0.50),
        "select": (0.54, 0.54, 0.54, 0.96, 0.96),
        "shl": (0.73, 1.00, 1.54, 1.92, 2.24),
        "shru": (1.46, 1.46, 1.47, 1.94, 2.28),
        "mul": (1.65, 2.35),
    },
    choices=(0.20, 0.64, 1.21, 1.21, 1.24),
    memory=(1.345, 0.510),
    # The delays lie between single structures, which nothing pressed, and AMD's whole cores, where a table
    # with its wires takes a quarter less: so structures of tables are timed up to a fifth too short.
    looser={
        ("xor", 64): (0.16, 0.16), ("xor", 128): (0.16, 0.16),
        ("minimum", 16): (0.19, 0.19), ("minimum", 32): (0.22, 0.22),
        ("shl", 32): (0.19, 0.19), ("shl", 128): (0.24, 0.24),
        ("shru", 16): (WITHIN, 0.19), ("shru", 32): (WITHIN, 0.16), ("shru", 64): (WITHIN, 0.16),
        ("shru", 128): (0.24, 0.25),
        # shifts to the right of 8 bits were routed no faster than one of 32
        ("shru", 8): (0.36, 0.40),
        # selects of 64 bits and more took 0.4 ns more at once
        ("select", 8): (0.20, 0.20), ("select", 64): (0.34, 0.34), ("select", 128): (0.30, 0.30),
        ("mul", 16): (WITHIN, 0.17),
        # two sources were routed faster than any table with its wires, and sixteen as fast as eight
        ("choice", 2): (0.43, 0.22), ("choice", 4): (0.18, 0.30), ("choice", 8): (0.25, 0.35),
        ("choice", 16): (0.25, 0.35), ("choice", 40): (WITHIN, 0.16),
    },
    apart={("mul", 8): PRODUCT, ("choice", 2): 0.16, ("choice", 4): 0.41},
)  # fmt: skip
FAMILIES = {"xc7": SERIES_7, "xcup": ULTRASCALE}
ROWS = [
    (name, row, width, ns)
    for name, routed in FAMILIES.items()
    for row, times in routed.rows.items()
    for width, ns in zip(WIDTHS, times, strict=False)
]
CHOICES = [
    (name, *pair)
    for name, routed in FAMILIES.items()
    for pair in zip(SOURCES, routed.choices, strict=True)
]


@pytest.fixture(scope="module")
def kept() -> Iterator[dict[str, str]]:
    """The families with registers that stay outside of multiplier blocks, as in the measured structures."""
    names = {}
    for name in FAMILIES:
        record = family(name)
        cells = replace(record.cells, block_registers=False)
        names[name] = f"kept_{name}"
        devices.register(replace(record, name=names[name], cells=cells))
    yield names
    for made in names.values():
        devices.unregister(made)


def structure(inputs: dict[str, int], width: int, *lines: str) -> str:
    """The text of a structure that gives ``%x``, between registers ``%r.NAME`` and another one."""
    ports = ", ".join(f"in %{name} : i{bits}" for name, bits in inputs.items())
    body = [f"%r.{name} = seq.compreg %{name}, %clk : i{bits}" for name, bits in inputs.items()]
    body += [*lines, f"%q = seq.compreg %x, %clk : i{width}", f"hw.output %q : i{width}"]
    head = f"hw.module @m(in %clk : !seq.clock, in %rst : i1, {ports}, out q : i{width}) {{"
    return "\n".join([head, *(f"  {line}" for line in body), "}"])


def estimated(device: str, text: str) -> float:
    """The longest path of a structure."""
    return module_resources(read_netlist(text), device)["m"].timing.worst.delay_ns


def text_of(row: str, width: int) -> str:
    """The structure of an operation of so many bits."""
    inputs = {"a": width, "b": width}
    pair = f"%r.a, %r.b : i{width}"
    match row:
        case "less":
            return structure(inputs, 1, f"%x = comb.icmp ult {pair}")
        case "minimum":
            less = f"%c = comb.icmp ult {pair}"
            return structure(inputs, width, less, f"%x = comb.mux %c, {pair}")
        case "select":
            return structure(inputs | {"s": 1}, width, f"%x = comb.mux %r.s, {pair}")
    return structure(inputs, width, f"%x = comb.{row} {pair}")


def text_of_choice(sources: int) -> str:
    """The structure of a choice of 32 bits among sources with a select each."""
    inputs = {f"a{k}": 32 for k in range(sources)} | {f"s{k}": 1 for k in range(sources)}
    lines = [f"%e{k} = comb.replicate %r.s{k} : (i1) -> i32" for k in range(sources)]
    lines += [f"%g{k} = comb.and %e{k}, %r.a{k} : i32" for k in range(sources)]
    lines.append(f"%x = comb.or {', '.join(f'%g{k}' for k in range(sources))} : i32")
    return structure(inputs, 32, *lines)


def scheduled(device: OperatorDelays, row: str, width: int) -> float:
    net = Netlist()
    a, b, s = net.input("a", width), net.input("b", width), net.input("s", 1)
    net.finish(_drawn(row, a, b, s))
    mapper = Mapper(device)
    words = [mapper.tables.leaves(0.0, bits) for bits in (width, width, 1)]
    return device.register_ns + latest(mapper.output(net, words))


def _drawn(row: str, a: Signal, b: Signal, s: Signal) -> Signal:
    match row:
        case "add":
            return a + b
        case "less":
            return a.ult(b)
        case "minimum":
            return mux(a.ult(b), a, b)
        case "xor":
            return a ^ b
        case "select":
            return mux(s, a, b)
        case "shl":
            return a.shl(b)
        case "shru":
            return a.shru(b)
    return a * b


def held(routed: Routed, row: str, size: int, times: tuple[float, float], ns: float) -> None:
    """Hold the estimate and the schedule of a structure to what was routed, and to one another."""
    estimate, schedule = times
    within, planned, apart = routed.limits(row, size)
    assert estimate == pytest.approx(routed.floor + ns, rel=within)
    assert schedule == pytest.approx(routed.floor + ns, rel=planned)
    assert schedule == pytest.approx(estimate, rel=apart)


@pytest.mark.parametrize(("name", "row", "width", "ns"), ROWS)
def test_both_models_time_an_operation_as_it_was_routed(
    kept: dict[str, str], name: str, row: str, width: int, ns: float
) -> None:
    estimate = estimated(kept[name], text_of(row, width))
    schedule = scheduled(family(name).operators, row, width)
    held(FAMILIES[name], row, width, (estimate, schedule), ns)


@pytest.mark.parametrize(("name", "sources", "ns"), CHOICES)
def test_both_models_time_a_choice_as_it_was_routed(name: str, sources: int, ns: float) -> None:
    device = family(name).operators
    estimate = estimated(name, text_of_choice(sources))
    schedule = device.register_ns + TimingModel.of(device, 100.0).choice(sources)
    held(FAMILIES[name], "choice", sources, (estimate, schedule), ns)


@pytest.mark.parametrize("name", FAMILIES)
def test_memories_are_as_they_were_routed(name: str) -> None:
    """Blocks of RAM, of which one register is the block's own."""
    record, routed = family(name), FAMILIES[name]
    signals, device = record.signals, record.operators
    read = signals.memory + signals.far + signals.wire + signals.setup
    write = signals.clock_out + signals.wire + signals.far + signals.setup
    times = (read, device.memory_out_ns), (write, device.memory_in_ns)
    for (estimate, schedule), ns in zip(times, routed.memory, strict=True):
        assert estimate == pytest.approx(routed.floor + ns, rel=WITHIN)
        assert device.register_ns + schedule == pytest.approx(routed.floor + ns, rel=WITHIN)


UNITS = [
    (name, clock, op, impl)
    for name, clock in (
        ("xc7", 80.0),
        ("xc7", 100.0),
        ("xc7", 150.0),
        ("xcup", 200.0),
        ("xcup", 300.0),
    )
    for op in ("arith.addf", "arith.mulf")
    for impl in ("", "fast")
]


@pytest.mark.parametrize(("name", "clock", "op", "impl"), UNITS)
def test_a_unit_is_about_as_fast_as_it_was_pipelined_for(
    name: str, clock: float, op: str, impl: str
) -> None:
    """The estimate tells words apart, not bits, and has longer wires: it is the slower one as a rule."""
    unit = OperatorLibrary(name, clock).find(op, ("f32", "f32"), "f32", {"impl": impl})
    assert unit.unit_module is not None
    timing = module_resources(Modules([unit.unit_module("rtl")]), name)[unit.module].timing
    scheduled = family(name).operators.register_ns + unit.slowest_ns
    assert scheduled <= 1000.0 / clock
    assert 0.85 * scheduled <= timing.worst.delay_ns <= 1.35 * scheduled


CORES = [
    ("f32", 1, 203), ("f32", 2, 326), ("f32", 3, 425), ("f64", 3, 360), ("f64", 4, 430), ("bf16", 4, 537),
]  # fmt: skip
"""AMD's adders: format, cycles, and the megahertz at which Vivado closed them. Only the first three were
looked at when the delays were chosen."""
SLOWER = 0.22
"""The estimate may be slower than the routed core by this part: it has the wires of a module in a design."""


@pytest.mark.parametrize(("name", "cycles", "mhz"), CORES)
def test_a_flat_sum_takes_the_cycles_of_the_routed_core(name: str, cycles: int, mhz: int) -> None:
    """With operands from registers and the whole period, as the core has them."""
    kind = replace(FORMATS[name], flush=True)
    net = drawn(lambda a, b: add_by_paths(a, b, kind), (kind.width, kind.width))
    device = replace(family("xcup").operators, source_ns=0.0, margin=1.0)
    plan = pipeline(net, device, float(mhz), cycles, tables=True)
    assert plan.latency == cycles
    assert (device.register_ns + plan.slowest_ns) * mhz / 1000 > 0.8
    unit = replace(pipelined_module(net, "unit", plan), private=False)
    assert (1 - SLOWER) * mhz <= estimated_mhz(unit) <= 1.1 * mhz


def test_logic_is_timed_as_the_flattest_tables() -> None:
    """Nine gates behind one another, of ten bits: two levels of tables with six inputs."""
    lines = [f"%b{k} = comb.extract %r.a from {k} : (i10) -> i1" for k in range(10)]
    lines += ["%g0 = comb.and %b0, %b1 : i1"]
    kinds = "or", "xor", "and", "or", "xor", "and", "or"
    lines += [f"%g{k + 1} = comb.{kind} %g{k}, %b{k + 2} : i1" for k, kind in enumerate(kinds)]
    lines.append("%x = comb.or %g7, %b9 : i1")
    signals = family("xc7").signals
    level = signals.wire + signals.table
    floor = signals.clock_out + signals.setup
    assert estimated("xc7", structure({"a": 10}, 1, *lines)) == pytest.approx(floor + 2 * level)


def test_a_delay_of_a_shift_that_a_record_does_not_know() -> None:
    with pytest.raises(DeviceError, match="has no field 'shift_us' in SignalDelays"):
        replace(family("xc7").signals, shift_us=1.0)
