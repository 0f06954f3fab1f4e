"""The clock that a design can be expected to reach: paths by hand, and against nextpnr."""

from __future__ import annotations

import re
import warnings

import pytest

import allo
from allo.backend.devices import family
from allo.backend.rtl.resources.design import module_resources
from allo.backend.rtl.resources.paths import Path
from allo.dialects.reports.figures import DesignReport, PathPart
from allo.errors import BuildError, ClockWarning, OptionError
from allo.ir.types import Stream, int8, int32, uint8
from benchmarks.kernels import gemm, kept, largest
from tests.netlist.reader import read_netlist

ECP5 = family("ecp5").signals.in_design(0, 0)
PORTS = "in %clk : !seq.clock, in %rst : i1, in %a : i8, in %b : i8"


XCUP = family("xcup").signals.in_design(0, 1)


def worst(*modules: str, device: str = "ecp5") -> Path:
    """The longest path of the last module."""
    return module_resources(read_netlist("\n".join(modules)), device)["m"].timing.worst


def module(name: str, *lines: str, result: str) -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"hw.module @{name}({PORTS}, out r : i8) {{\n{body}\n  hw.output {result} : i8\n}}"


def test_a_sum_between_registers() -> None:
    path = worst(
        module(
            "m",
            "%p = seq.compreg %a, %clk : i8",
            "%q = seq.compreg %b, %clk : i8 loc(#p1)",
            "%s = comb.add %p, %q : i8 loc(#p2)",
            "%r = seq.compreg %s, %clk : i8 loc(#p3)",
            result="%r",
        )
    )
    chain = ECP5.wire + ECP5.carry + 8 * ECP5.carry_bit
    assert path.delay_ns == pytest.approx(ECP5.register_out + chain + ECP5.beside + ECP5.setup)
    assert [step.what for step in path.steps] == ["register", "sum", "register"]
    assert [step.place for step in path.steps][1:] == ["#p2", "#p3"]


def test_a_register_behind_a_register_has_a_wire() -> None:
    path = worst(
        module(
            "m",
            "%p = seq.compreg %a, %clk : i8",
            "%q = seq.compreg %p, %clk : i8",
            result="%q",
        )
    )
    assert path.delay_ns == pytest.approx(ECP5.register_out + ECP5.wire + ECP5.setup)


def test_a_path_goes_through_instances() -> None:
    """From a register of the outer module through logic of the inner one and back."""
    inner = module("n", "%x = comb.xor %a, %b : i8", result="%x")
    outer = module(
        "m",
        "%p = seq.compreg %a, %clk : i8",
        '%x = hw.instance "x" @n(clk: %clk: !seq.clock, rst: %rst: i1, a: %p: i8, b: %b: i8) -> (r: i8)',
        "%s = comb.sub %x, %b : i8",
        "%q = seq.compreg %s, %clk : i8",
        result="%q",
    )
    path = worst(inner, outer)
    logic = ECP5.wire + ECP5.table
    chain = ECP5.wire + ECP5.carry + 8 * ECP5.carry_bit
    assert path.delay_ns == pytest.approx(ECP5.register_out + logic + chain + ECP5.beside)
    assert [step.what for step in path.steps] == ["register", "logic", "sum", "register"]


def test_a_way_round_through_instances_ends() -> None:
    """What no signal takes: the output of each instance reaches the input of the other one."""
    inner = module("n", "%x = comb.xor %a, %b : i8", result="%x")
    joined = "clk: %clk: !seq.clock, rst: %rst: i1"
    outer = module(
        "m",
        "%p = seq.compreg %a, %clk : i8",
        f'%x = hw.instance "x" @n({joined}, a: %p: i8, b: %y: i8) -> (r: i8)',
        f'%y = hw.instance "y" @n({joined}, a: %p: i8, b: %x: i8) -> (r: i8)',
        "%q = seq.compreg %y, %clk : i8",
        result="%q",
    )
    assert 0 < worst(inner, outer).delay_ns < 10


def test_what_comes_last_is_led_to_the_last_table() -> None:
    """Six registers and a sum, all in one conjunction: the sum passes one table, not two."""
    ones = ["%p0 = seq.compreg %a, %clk : i8"]
    ones += [f"%p{k + 1} = seq.compreg %p{k}, %clk : i8" for k in range(5)]
    path = worst(
        module(
            "m",
            *ones,
            "%s = comb.add %p0, %p1 : i8",
            "%c = comb.and %p0, %p1, %p2, %p3, %p4, %p5, %s : i8",
            "%q = seq.compreg %c, %clk : i8",
            result="%q",
        )
    )
    chain = ECP5.wire + ECP5.carry + 8 * ECP5.carry_bit
    last = ECP5.wire + ECP5.table + ECP5.beside
    assert path.delay_ns == pytest.approx(ECP5.register_out + chain + last)


def _two_sums(between: str) -> float:
    """A sum, a gate of what ``between`` makes of it, and another sum."""
    ones = [f"%{name} = seq.compreg %{port}, %clk : i8" for name, port in ("pa", "qb", "va", "wb")]
    sums = [
        "%s = comb.add %p, %q : i8",
        "%m = comb.xor %v, %x : i8",
        "%t = comb.add %m, %w : i8",
        "%r = seq.compreg %t, %clk : i8",
    ]
    held = [line.replace("%pa", "%p").replace("%qb", "%q") for line in ones]
    held = [line.replace("%va", "%v").replace("%wb", "%w") for line in held]
    return worst(module("m", *held, sums[0], *between.split(";"), *sums[1:], result="%r")).delay_ns


def test_the_carry_of_a_second_sum_runs_beside_that_of_the_first() -> None:
    """Where its low bits are those of the first one; where halves change places, four bits come later."""
    ends = ECP5.register_out + ECP5.wire + ECP5.table + ECP5.beside
    straight = _two_sums("%z = hw.constant 1 : i8;%x = comb.xor %s, %z : i8")
    assert straight == pytest.approx(ends + 2 * (ECP5.wire + ECP5.carry) + 9 * ECP5.carry_bit)
    swapped = _two_sums(
        "%lo = comb.extract %s from 0 : (i8) -> i4;%hi = comb.extract %s from 4 : (i8) -> i4;"
        "%x = comb.concat %lo, %hi : i4, i4"
    )
    assert swapped == pytest.approx(straight + 4 * ECP5.carry_bit)


def test_a_condition_that_an_enable_joins_takes_a_table() -> None:
    ports = "in %clk : !seq.clock, in %c : i1, in %e : i1, in %a : i8, out r : i8"
    lines = [f"%{name} = seq.compreg %{name[0]}, %clk : i1" for name in ("cc", "ee")]
    lines.append("%r = seq.compreg.ce %m, %clk, %ee : i8")
    for joined in (False, True):
        kept = "%m = comb.mux %cc, %a, %r : i8" if joined else "%m = comb.xor %a, %a : i8"
        found = worst(
            f"hw.module @m({ports}) {{\n" + "\n".join([*lines, kept]) + "\n  hw.output %r : i8\n}"
        )
        more = joined * (ECP5.wire + ECP5.table)
        assert found.delay_ns == pytest.approx(ECP5.register_out + ECP5.wire + more)


def _looked_up(depth: int) -> float:
    """The longest path of a design that reads an array of so many words, in nanoseconds."""

    def held(places: int32[16], words: int8[16]):
        store: int8[depth]
        for z in range(depth):
            store[z] = words[z & 15]
        for i in range(16):
            words[i] = store[places[i] & (depth - 1)] + 1

    report = allo.customize(held).estimate(device="ecp5", clock_mhz=25)
    return 1000 / report.registered_mhz


def test_a_word_of_a_deep_memory_is_chosen_among_rows_of_blocks() -> None:
    """Of 32,768 words in two rows; the wires to 16 blocks are longer, too, and so is the one behind both."""
    choice = ECP5.wire + ECP5.table + 2 * ECP5.joined
    more = _looked_up(32768) - _looked_up(2048)
    assert choice + 2 * ECP5.far < more < 1.1 * choice + 4 * ECP5.far


def test_tables_are_chosen_by_the_delays_that_synthesis_knows() -> None:
    """An equality of 12 bits: two levels, of four and six inputs, are quickest once routed.

    Synthesis takes them for 1.60 ns, and a chain whose late ends are inputs of multiplexers for less.
    """
    ports = "in %clk : !seq.clock, in %a : i12, in %b : i12, out r : i1"
    lines = [f"%{name * 2} = seq.compreg %{name}, %clk : i12" for name in "ab"]
    lines += ["%x = comb.icmp eq %aa, %bb : i12", "%r = seq.compreg %x, %clk : i1"]
    path = worst(f"hw.module @m({ports}) {{\n" + "\n".join(lines) + "\n  hw.output %r : i1\n}")
    ends = ECP5.register_out + ECP5.beside
    assert path.delay_ns == pytest.approx(ends + 3 * (ECP5.wire + ECP5.table))


def _through_equalities(stages: int) -> Path:
    """So many times an equality, and the logic that reads it."""
    lines = ["%x0 = seq.compreg %a, %clk : i8", "%q = seq.compreg %b, %clk : i8"]
    for n in range(stages):
        lines += [
            f"%e{n} = comb.icmp eq %x{n}, %q : i8",
            f"%w{n} = comb.replicate %e{n} : (i1) -> i8",
            f"%x{n + 1} = comb.xor %w{n}, %q : i8",
        ]
    last = f"%r = seq.compreg %x{stages}, %clk : i8"
    return worst(module("m", *lines, last, result="%r"), device="ice40")


def test_equalities_are_levels_of_a_long_chain_of_logic() -> None:
    """Behind many of them synthesis makes the chain flatter, as it does behind other logic."""
    one, two, four, five = (_through_equalities(stages).delay_ns for stages in (1, 2, 4, 5))
    assert five - four < 0.3 * (two - one)


@pytest.mark.parametrize(
    ("lines", "entering", "leaving"),
    [
        (("%s = comb.mul %w, %v : i18",), False, False),
        (("%s = comb.mul %w, %v : i18", "%x = comb.xor %w, %v : i18"), True, False),
        (("%s = comb.mul %w, %v : i18", "%x = comb.add %s, %v : i18"), True, True),
    ],
    ids=["alone", "operands read elsewhere", "product read elsewhere"],
)
def test_registers_around_a_product_are_those_of_its_block(
    lines: tuple[str, ...], entering: bool, leaving: bool
) -> None:
    """Where nothing else reads them, no wires lie between them and the block: on Xilinx devices."""
    ports = "in %clk : !seq.clock, in %rst : i1, in %a : i18, in %b : i18, out r : i18, out t : i18"
    held = ["%w = seq.compreg %a, %clk : i18", "%v = seq.compreg %b, %clk : i18"]
    held += [*lines, "%r = seq.compreg %s, %clk : i18"]
    other = "%x" if len(lines) > 1 else "%r"
    held += [f"%t = seq.compreg {other}, %clk : i18"]
    text = f"hw.module @m({ports}) {{\n" + "\n".join(held) + "\n  hw.output %r, %t : i18, i18\n}"
    way = XCUP.clock_out + XCUP.block + XCUP.setup
    way += entering * (XCUP.wire + XCUP.far) + leaving * XCUP.far
    way += leaving * (XCUP.wire + XCUP.carry + 18 * XCUP.carry_bit)
    assert worst(text, device="xcup").delay_ns == pytest.approx(way, rel=0.01)


def test_an_enable_of_many_registers_has_a_longer_wire() -> None:
    def gated(width: int) -> float:
        ports = f"in %clk : !seq.clock, in %e : i1, in %a : i{width}, out r : i{width}"
        lines = (
            "%g = seq.compreg %e, %clk : i1",
            f"%r = seq.compreg.ce %a, %clk, %g : i{width}",
            f"hw.output %r : i{width}",
        )
        text = f"hw.module @m({ports}) {{\n" + "\n".join(lines) + "\n}"
        return worst(text, device="xcup").delay_ns

    assert gated(64) == pytest.approx(XCUP.clock_out + XCUP.wire + XCUP.setup)
    assert gated(1024) == pytest.approx(gated(64) + 4 * XCUP.control)


@pytest.mark.parametrize("device", ["xcup", "xc7", "ecp5", "generic"])
@pytest.mark.parametrize("kernel", [gemm, kept, largest], ids=lambda kernel: kernel.__name__)
def test_the_estimate_of_a_schedule_is_the_report_of_its_build(kernel, device: str) -> None:
    s = allo.customize(kernel)
    found = s.estimate(device=device, clock_mhz=120)
    built = s.build(target="systemverilog", device=device, clock_mhz=120)
    assert "module" in built
    report = s.build(target="verilog", simulator="jit", device=device, clock_mhz=120).report
    assert (found.cycles, found.resources, found.fmax_mhz, found.critical_path) == (
        report.cycles, report.resources, report.fmax_mhz, report.critical_path
    )  # fmt: skip
    assert found.functions == report.functions
    assert DesignReport.from_json(found.to_json()) == found
    total = sum(part.delay_ns for part in found.critical_path)
    assert 1000 / found.fmax_mhz == pytest.approx(total, rel=0.01)


def products(x: int8[64], y: int8[64], z: int32[64]):
    for i in range(64):
        z[i] = x[i] * y[i] + 3


def test_the_longest_path_names_lines_of_the_source() -> None:
    s = allo.customize(products)
    s.pipeline("i")
    report = s.estimate(device="ecp5", clock_mhz=100)
    line = products.__code__.co_firstlineno + 2
    parts = {part.what: part for part in report.critical_path}
    assert isinstance(parts["product"], PathPart)
    assert parts["product"].place.rpartition("/")[2] == f"test_clock.py:{line}:16"
    assert f"product {parts['product'].delay_ns:.1f} (test_clock.py:{line})" in report.table()
    assert f"clock: about {report.fmax_mhz:.0f} MHz" in report.table()


def quotients(x: int32[16], y: int32[16], z: int32[16]):
    for i in range(16):
        z[i] = x[i] // (y[i] | 1)


@pytest.mark.parametrize("device", ["xcup", "ecp5"])
def test_a_path_inside_a_unit_names_the_line_that_uses_the_unit(device: str) -> None:
    report = allo.customize(quotients).estimate(device=device, clock_mhz=100)
    line = quotients.__code__.co_firstlineno + 2
    places = {part.place.rpartition("/")[2] for part in report.critical_path}
    assert places == {f"test_clock.py:{line}:16"}


def running(x: int32[64], z: int32[64]):
    total: int32 = 0
    for i in range(64):
        total = total + x[i] * 5
        z[i] = total


def passed(x: Stream[int32, 2], y: Stream[int32, 2], n: int32) -> int32:
    total: int32 = 0
    for i in range(16):
        v: int32 = x.get()
        total += v * n + v
        y.put(v)
    return total


def test_paths_from_and_to_ports_are_apart_from_those_between_registers() -> None:
    """As in nextpnr's and Vivado's reports: what is outside of the ports is not known."""
    s = allo.customize(running)
    s.pipeline("i")
    report = s.estimate(device="ecp5", clock_mhz=25)
    into = next(path for path in report.port_paths if not path.end)
    out = next(path for path in report.port_paths if not path.start)
    assert into.start == "x_0_p0_rdata" and out.end == "z_0_p0_wdata"
    line = running.__code__.co_firstlineno + 3
    assert any(f"test_clock.py:{line}:" in part.place for part in into.parts)
    for path in report.port_paths:
        assert path.delay_ns == pytest.approx(sum(p.delay_ns for p in path.parts), abs=0.01)
    signals = family("ecp5").signals
    longest = max(into.delay_ns + signals.clock_out, out.delay_ns + signals.setup)
    assert report.registered_mhz == pytest.approx(min(report.fmax_mhz, 1000 / longest), rel=0.01)
    assert DesignReport.from_json(report.to_json()) == report


def test_a_port_whose_path_is_longer_than_the_clock_is_named_in_the_table() -> None:
    s = allo.customize(passed)
    s.pipeline("i")
    report = s.estimate(device="ecp5", clock_mhz=25)
    through = [(path.start, path.end) for path in report.port_paths if path.start and path.end]
    assert len(through) == 1 and report.registered_mhz <= report.fmax_mhz
    shown = " ".join(report.table().split())
    words = f"With a register outside of each port about {report.registered_mhz:.0f} MHz"
    assert (words in shown) == (report.registered_mhz < report.fmax_mhz)


def test_an_option_that_estimate_does_not_take() -> None:
    with pytest.raises(OptionError) as caught:
        allo.customize(products).estimate(devise="ecp5")
    assert str(caught.value).startswith("Target systemverilog has no option 'devise'.")


# --- clocks that are too fast -----------------------------------------------------------------


def test_an_operator_that_is_slower_than_the_clock_is_named() -> None:
    s = allo.customize(products)
    line = products.__code__.co_firstlineno + 2
    told = (
        f"mul_i16_s8_s8 (test_clock.py:{line}:16) takes 6.5 ns between two registers, and no "
        "further register can part it; at 150 MHz ecp5 has 5.1 ns. The clock to ask for is at most 122 MHz."
    )
    with pytest.warns(ClockWarning) as seen:
        report = s.estimate(device="ecp5", clock_mhz=150)
    assert [str(w.message) for w in seen] == [told]
    assert told in report.notes


@pytest.mark.parametrize("clock", [100, 120])
def test_a_clock_that_every_operator_meets_is_no_news(clock: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = allo.customize(products).estimate(device="ecp5", clock_mhz=clock)
    assert not any("part it" in note for note in report.notes)


def test_a_clock_that_no_operator_meets_is_refused() -> None:
    with pytest.raises(BuildError) as caught:
        allo.customize(products).estimate(device="ecp5", clock_mhz=500)
    assert str(caught.value) == (
        "No operator meets a clock of 500 MHz on ecp5: a register and one lookup table "
        "with its wire take 2.10 ns.\nhelp: ask for at most 438 MHz."
    )


def wrapped(x: int32[64]) -> int32:
    s: int32 = 0
    for i in range(64):
        t: int32 = s + x[i]
        s = t if t < 1000 else t - 1000
    return s


def scaled(x: uint8[64], h: int32[256]):
    for i in range(64):
        h[x[i]] = h[x[i]] * 45


def _pipelined(kernel):
    s = allo.customize(kernel)
    s.pipeline("i")
    return s


@pytest.mark.parametrize(
    ("kernel", "cycle", "levels"),
    [
        (
            wrapped,
            r"read of s \(test_clock\.py:{0}:20\) -> add_i33 \(test_clock\.py:{0}:20\) -> "
            r"cmp_slt_i32 \(test_clock\.py:{1}:18\) -> mux_i33 \(test_clock\.py:{1}:13\) -> "
            r"write of s \(test_clock\.py:{1}:9\) -> again",
            "4 levels",
        ),
        (
            scaled,
            r"read of h \(test_clock\.py:{2}:19\) -> mul_\w+ \(test_clock\.py:{2}:19\) -> "
            r"write of h \(test_clock\.py:{2}:9\) -> again",
            "2 levels",
        ),
    ],
    ids=["registers", "memory"],
)
def test_a_loop_that_no_clock_so_fast_lets_run_is_told_as_lines(kernel, cycle, levels) -> None:
    """Of a clock that no operator meets: the cycle, its levels, and the clock that it can meet."""
    line = kernel.__code__.co_firstlineno
    cycle = cycle.format(line + 3, line + 4, line + 2)
    with pytest.raises(
        BuildError,
        match=rf"No operator meets a clock of 500 MHz on ecp5: .* stands in a loop: the cycle {cycle} meets "
        rf"at most \d+ MHz, whatever the initiation interval \({levels} of lookup tables in all\)\."
        r"(?s:.*)help: ask for at most \d+ MHz",
    ) as caught:
        _pipelined(kernel).estimate(device="ecp5", clock_mhz=500)
    told = re.search(r"meets at most (\d+) MHz", str(caught.value))
    assert told is not None and f"ask for at most {told[1]} MHz" in str(caught.value)
    assert caught.value.place is not None and caught.value.place.line > line


@pytest.mark.parametrize("kernel", [wrapped, scaled], ids=lambda kernel: kernel.__name__)
def test_the_clock_that_is_told_is_met(kernel) -> None:
    """Just there no warning comes; above it a warning tells the same cycle."""
    with pytest.raises(BuildError) as caught:
        _pipelined(kernel).estimate(device="ecp5", clock_mhz=500)
    limit = int(str(caught.value).partition("meets at most ")[2].split()[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _pipelined(kernel).estimate(device="ecp5", clock_mhz=limit)
    with pytest.warns(
        ClockWarning, match=rf"stands in a loop: .* -> again meets at most {limit} MHz"
    ):
        _pipelined(kernel).estimate(device="ecp5", clock_mhz=limit + 8)


def test_a_loop_that_is_not_pipelined_waits_for_itself_anyway() -> None:
    with pytest.raises(BuildError) as caught:
        allo.customize(wrapped).estimate(device="ecp5", clock_mhz=500)
    assert "stands in a loop" not in str(caught.value)


# --- against nextpnr --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [gemm, products], ids=lambda kernel: kernel.__name__)
def test_the_clock_is_near_what_nextpnr_reaches(kernel) -> None:
    s = allo.customize(kernel)
    s.pipeline("k" if kernel is gemm else "i")
    built = s.build(target="verilog", simulator="jit", device="ecp5", clock_mhz=100)
    reached = built.synthesize(route=True).fmax_mhz
    assert built.report.fmax_mhz == pytest.approx(reached, rel=0.2)
