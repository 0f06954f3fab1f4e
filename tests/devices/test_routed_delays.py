"""Structures between registers as both models time them, beside what Vivado's router measured.

The routed figures are those of an independent project (2026): 7 series of speed grade -1, out of context,
register to structure to register with every register kept. They are without the 1.086 ns that a register
followed by a register takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from allo.backend import devices
from allo.backend.devices import OperatorDelays, family
from allo.backend.rtl.operators.netlist import Netlist, Signal, mux
from allo.backend.rtl.operators.tables.words import Mapper, latest
from allo.backend.rtl.plan.timing_model import TimingModel
from allo.backend.rtl.resources.design import module_resources
from allo.errors import DeviceError
from tests.netlist.reader import read_netlist

FLOOR = 1.086
WITHIN = 0.15
WIDTHS = (8, 16, 32, 64, 128)
SOURCES = (2, 4, 8, 16, 40)
ROUTED = {
    "add": (2.325, 2.480, 2.936, 3.848, 5.650),
    "less": (2.036, 2.284, 2.438, 2.789, 3.701),
    "minimum": (3.46, 3.64, 4.17, 5.01, 5.91),
    "xor": (1.40, 1.46, 1.46, 1.46, 1.46),
    "select": (1.74, 1.98, 2.09, 2.09, 2.22),
    "shl": (2.45, 3.38, 4.34, 5.13, 7.00),
    "shru": (2.85, 3.69, 4.57, 6.26, 6.62),
    "mul": (5.08, 5.62),
}
"""By width. Wider products are cut into parts that are registered; no product of one piece is built."""
ROWS = [
    (row, width, ns)
    for row, times in ROUTED.items()
    for width, ns in zip(WIDTHS, times, strict=False)
]
CHOICES = list(zip(SOURCES, (1.12, 2.61, 2.61, 3.51, 4.58), strict=True))
LOOSER = {2: 0.35, 4: 0.23}
"""Two sources were routed faster than one table with its wires, and four as slow as eight."""
PRODUCT = 0.35
"""The scheduler's units keep the registers of a product in its block, where no wires lie. The measured
structure has them outside, and so has what the estimate times here."""


@pytest.fixture(scope="module")
def kept() -> Iterator[str]:
    """The family with registers that stay outside of multiplier blocks, as in the measured structures."""
    record = family("xc7")
    cells = replace(record.cells, block_registers=False)
    devices.register(replace(record, name="kept", cells=cells))
    yield "kept"
    devices.unregister("kept")


def estimated(device: str, inputs: dict[str, int], width: int, *lines: str) -> float:
    """The longest path of a structure that gives ``%x``, between registers ``%r.NAME`` and another one."""
    ports = ", ".join(f"in %{name} : i{bits}" for name, bits in inputs.items())
    body = [f"%r.{name} = seq.compreg %{name}, %clk : i{bits}" for name, bits in inputs.items()]
    body += [*lines, f"%q = seq.compreg %x, %clk : i{width}", f"hw.output %q : i{width}"]
    head = f"hw.module @m(in %clk : !seq.clock, in %rst : i1, {ports}, out q : i{width}) {{"
    text = "\n".join([head, *(f"  {line}" for line in body), "}"])
    return module_resources(read_netlist(text), device)["m"].timing.worst.delay_ns


def estimate_of(device: str, row: str, width: int) -> float:
    inputs = {"a": width, "b": width}
    pair = f"%r.a, %r.b : i{width}"
    match row:
        case "less":
            return estimated(device, inputs, 1, f"%x = comb.icmp ult {pair}")
        case "minimum":
            less = f"%c = comb.icmp ult {pair}"
            return estimated(device, inputs, width, less, f"%x = comb.mux %c, {pair}")
        case "select":
            return estimated(device, inputs | {"s": 1}, width, f"%x = comb.mux %r.s, {pair}")
    return estimated(device, inputs, width, f"%x = comb.{row} {pair}")


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


@pytest.mark.parametrize(("row", "width", "routed"), ROWS)
def test_both_models_time_an_operation_as_it_was_routed(
    kept: str, row: str, width: int, routed: float
) -> None:
    estimate = estimate_of(kept, row, width)
    schedule = scheduled(family(kept).operators, row, width)
    assert estimate == pytest.approx(FLOOR + routed, rel=WITHIN)
    within = PRODUCT if row == "mul" else WITHIN
    assert schedule == pytest.approx(FLOOR + routed, rel=within)
    assert schedule == pytest.approx(estimate, rel=within)


@pytest.mark.parametrize(("sources", "routed"), CHOICES)
def test_both_models_time_a_choice_as_it_was_routed(kept: str, sources: int, routed: float) -> None:
    inputs = {f"a{k}": 32 for k in range(sources)} | {f"s{k}": 1 for k in range(sources)}
    lines = [f"%e{k} = comb.replicate %r.s{k} : (i1) -> i32" for k in range(sources)]
    lines += [f"%g{k} = comb.and %e{k}, %r.a{k} : i32" for k in range(sources)]
    lines.append(f"%x = comb.or {', '.join(f'%g{k}' for k in range(sources))} : i32")
    device = family(kept).operators
    estimate = estimated(kept, inputs, 32, *lines)
    schedule = device.register_ns + TimingModel.of(device, 100.0).choice(sources)
    within = LOOSER.get(sources, WITHIN)
    assert estimate == pytest.approx(FLOOR + routed, rel=within)
    assert schedule == pytest.approx(FLOOR + routed, rel=within)
    assert schedule == pytest.approx(estimate, rel=within)


def test_memories_are_as_they_were_routed() -> None:
    """Blocks of RAM, of which one register is the block's own: 3.427 ns to read and 1.390 ns to write."""
    record = family("xc7")
    signals, device = record.signals, record.operators
    read = signals.memory + signals.far + signals.wire + signals.setup
    write = signals.clock_out + signals.wire + signals.far + signals.setup
    for estimate, schedule, routed in (
        (read, device.memory_out_ns, 3.427), (write, device.memory_in_ns, 1.390)
    ):  # fmt: skip
        assert estimate == pytest.approx(FLOOR + routed, rel=WITHIN)
        assert device.register_ns + schedule == pytest.approx(FLOOR + routed, rel=WITHIN)


def test_a_delay_of_a_shift_that_a_record_does_not_know() -> None:
    with pytest.raises(DeviceError, match="has no field 'shift_us' in SignalDelays"):
        replace(family("xc7").signals, shift_us=1.0)
