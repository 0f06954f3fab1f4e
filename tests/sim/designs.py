"""Hand-written hardware designs for the tests of the engines."""

from __future__ import annotations

from allo.backend.rtl.circt import export_verilog
from allo.backend.rtl.design import (
    ArrayInterface,
    BankPort,
    HardwareDesign,
    ScalarPort,
    StreamInterface,
)
from allo.dialects.core.partition import (
    ArrayLayout,
    Partition,
    make_dim,
    unpartitioned,
)
from allo.dialects.reports.figures import DesignReport


def _report(top: str, cycles: int | None) -> DesignReport:
    return DesignReport("test", "verilog", top, 100.0, cycles)


def scalar_adder(width: int = 13) -> HardwareDesign:
    """``r = a + b``, registered: one cycle."""
    text = f"""
hw.module @adder(in %clk: !seq.clock, in %rst: i1, in %start: i1, in %a: i{width}, in %b: i{width},
                 out done: i1, out r: i{width}) {{
  %zero = hw.constant 0 : i1
  %sum = comb.add %a, %b : i{width}
  %r = seq.compreg %sum, %clk : i{width}
  %done = seq.compreg %start, %clk reset %rst, %zero : i1
  hw.output %done, %r : i1, i{width}
}}
"""
    return HardwareDesign(
        top="adder",
        hw_text=text,
        verilog=export_verilog(text),
        arguments=("a", "b"),
        results=("r",),
        scalars_in=(
            ScalarPort("a", f"ui{width}", width),
            ScalarPort("b", f"ui{width}", width),
        ),
        scalars_out=(ScalarPort("r", f"ui{width}", width),),
        arrays=(),
        report=_report("adder", 1),
    )


def _array(
    name: str,
    dtype: str,
    width: int,
    layout: ArrayLayout,
    shape: tuple[int, ...],
    writes: bool,
) -> ArrayInterface:
    bits = max(1, (layout.bank_depth - 1).bit_length())
    ports = tuple(
        BankPort(f"{name}_{bank}", bank, not writes, writes, bits)
        for bank in range(layout.bank_count)
    )
    return ArrayInterface(name, dtype, width, shape, layout, "out" if writes else "in", ports)


def two_writers(
    addresses: tuple[int, int] = (1, 2), bank: int = 2, late: bool = False
) -> HardwareDesign:
    """Writes 8 and 9 to two words of a bank of ``C`` at once; ``r`` shows what a port of ``D`` shows unasked.

    ``late`` writes come after done; equal addresses are a fault, too. A run takes 2 cycles.
    """
    layout = ArrayLayout((make_dim(Partition.Cyclic, 32, 4),))
    outs, values, types = [], [], []
    for number in range(4):
        enable = "%write" if number == bank else "%false"
        for port, address in enumerate(addresses):
            name = f"C_{number}_p{port}"
            outs += [f"out {name}_addr: i3", f"out {name}_en: i1", f"out {name}_we: i1"]
            outs.append(f"out {name}_wdata: i8")
            values += [f"%at{address}", enable, enable, f"%value{port}"]
            types += ["i3", "i1", "i1", "i8"]
        outs += [f"out D_{number}_addr: i3", f"out D_{number}_en: i1"]
        values += ["%at0", "%false"]
        types += ["i3", "i1"]
    words = "\n".join(f"  %at{word} = hw.constant {word} : i3" for word in {0, *addresses})
    text = f"""
hw.module @pair(in %clk: !seq.clock, in %rst: i1, in %start: i1,
                {", ".join(f"in %D_{n}_rdata: i8" for n in range(4))},
                out done: i1, out r: i8, {", ".join(outs)}) {{
  %false = hw.constant 0 : i1
  %value0 = hw.constant 8 : i8
  %value1 = hw.constant 9 : i8
{words}
  %run = seq.compreg %start, %clk reset %rst, %false : i1
  %done = seq.compreg %run, %clk reset %rst, %false : i1
  %after = seq.compreg %done, %clk reset %rst, %false : i1
  %write = comb.or {"%after" if late else "%run"} : i1
  %r = seq.compreg %D_{bank}_rdata, %clk : i8
  hw.output %done, %r, {", ".join(values)} : i1, i8, {", ".join(types)}
}}
"""
    banks = range(4)
    writers = tuple(BankPort(f"C_{n}_p{p}", n, False, True, 3) for n in banks for p in range(2))
    readers = tuple(BankPort(f"D_{n}", n, True, False, 3) for n in banks)
    return HardwareDesign(
        top="pair",
        hw_text=text,
        verilog=export_verilog(text),
        arguments=("C", "D"),
        results=("r",),
        scalars_in=(),
        scalars_out=(ScalarPort("r", "ui8", 8),),
        arrays=(
            ArrayInterface("C", "ui8", 8, (32,), layout, "both", writers),
            ArrayInterface("D", "ui8", 8, (32,), layout, "in", readers),
        ),
        report=_report("pair", 2),
    )


def vector_add(width: int = 32, shape: tuple[int, ...] = (5, 6), kind: Partition | None = None,
               overrun: int = 0) -> HardwareDesign:  # fmt: skip
    """``C = A + B`` over arrays in two banks of the last dimension; ``depth + 1`` cycles.

    ``overrun`` more words than there are: a design with a fault.
    """
    kind = Partition.Cyclic if kind is None else kind
    rows = unpartitioned(shape[:-1]).dims
    layout = ArrayLayout((*rows, make_dim(kind, shape[-1], 2)))
    depth = layout.bank_depth
    n = max(1, (depth - 1).bit_length())
    last = depth - 1 + overrun
    ins, outs, values, types, sums = [], [], [], [], []
    for bank in range(2):
        for name in "AB":
            ins.append(f"in %{name}_{bank}_rdata: i{width}")
            outs += [f"out {name}_{bank}_addr: i{n}", f"out {name}_{bank}_en: i1"]
            values += ["%i", "%run"]
            types += [f"i{n}", "i1"]
        outs += [
            f"out C_{bank}_addr: i{n}",
            f"out C_{bank}_en: i1",
            f"out C_{bank}_we: i1",
            f"out C_{bank}_wdata: i{width}",
        ]
        sums.append(f"  %sum{bank} = comb.add %A_{bank}_rdata, %B_{bank}_rdata : i{width}")
        values += ["%at", "%write", "%write", f"%sum{bank}"]
        types += [f"i{n}", "i1", "i1", f"i{width}"]
    newline = "\n"
    text = f"""
hw.module @vadd(in %clk: !seq.clock, in %rst: i1, in %start: i1, {", ".join(ins)},
                out done: i1, {", ".join(outs)}) {{
  %false = hw.constant 0 : i1
  %true = hw.constant 1 : i1
  %zero = hw.constant 0 : i{n}
  %one = hw.constant 1 : i{n}
  %lastv = hw.constant {last} : i{n}
  %run = seq.compreg %run_next, %clk reset %rst, %false : i1
  %i = seq.compreg %i_next, %clk : i{n}
  %at = seq.compreg %i, %clk : i{n}
  %write = seq.compreg %run, %clk reset %rst, %false : i1
  %done = seq.compreg %ending, %clk reset %rst, %false : i1
  %is_last = comb.icmp eq %i, %lastv : i{n}
  %ending = comb.and %run, %is_last : i1
  %going = comb.xor %ending, %true : i1
  %stay = comb.and %run, %going : i1
  %run_next = comb.or %start, %stay : i1
  %i_plus = comb.add %i, %one : i{n}
  %i_next = comb.mux %start, %zero, %i_plus : i{n}
{newline.join(sums)}
  hw.output %done, {", ".join(values)} : i1, {", ".join(types)}
}}
"""
    arrays = tuple(_array(name, f"ui{width}", width, layout, shape, name == "C") for name in "ABC")
    return HardwareDesign(
        top="vadd",
        hw_text=text,
        verilog=export_verilog(text),
        arguments=("A", "B", "C"),
        results=(),
        scalars_in=(),
        scalars_out=(),
        arrays=arrays,
        report=_report("vadd", depth + 1),
    )


def stream_adder(
    words: int, width: int = 32, faulty: bool = False, element: str = ""
) -> HardwareDesign:
    """``y.put(x.get() + n)`` for so many words, through one register; a stall loses nothing.

    ``faulty``: the register is overwritten whether its word was taken or not.
    """
    bits = words.bit_length()
    hold = "%full" if not faulty else "%false"
    text = f"""
hw.module @offset(in %clk: !seq.clock, in %rst: i1, in %start: i1, in %n: i{width},
                  in %x_data: i{width}, in %x_valid: i1, out x_ready: i1,
                  out y_data: i{width}, out y_valid: i1, in %y_ready: i1, out done: i1) {{
  %false = hw.constant 0 : i1
  %true = hw.constant 1 : i1
  %zero = hw.constant 0 : i{bits}
  %one = hw.constant 1 : i{bits}
  %all = hw.constant {words} : i{bits}
  %last = hw.constant {words - 1} : i{bits}
  %run = seq.compreg %run_next, %clk reset %rst, %false : i1
  %full = seq.compreg %full_next, %clk reset %rst, %false : i1
  %taken = seq.compreg %taken_next, %clk : i{bits}
  %sent = seq.compreg %sent_next, %clk : i{bits}
  %data = seq.compreg.ce %sum, %clk, %fill : i{width}
  %offset = seq.compreg.ce %n, %clk, %start : i{width}
  %done = seq.compreg %ending, %clk reset %rst, %false : i1
  %more = comb.icmp ult %taken, %all : i{bits}
  %not_hold = comb.xor {hold}, %true : i1
  %space = comb.or %not_hold, %y_ready : i1
  %ready = comb.and %run, %more, %space : i1
  %fill = comb.and %ready, %x_valid : i1
  %drain = comb.and %full, %y_ready : i1
  %not_drain = comb.xor %drain, %true : i1
  %keep = comb.and %full, %not_drain : i1
  %full_next = comb.or %fill, %keep : i1
  %sum = comb.add %x_data, %offset : i{width}
  %taken_plus = comb.add %taken, %one : i{bits}
  %taken_step = comb.mux %fill, %taken_plus, %taken : i{bits}
  %taken_next = comb.mux %start, %zero, %taken_step : i{bits}
  %sent_plus = comb.add %sent, %one : i{bits}
  %sent_step = comb.mux %drain, %sent_plus, %sent : i{bits}
  %sent_next = comb.mux %start, %zero, %sent_step : i{bits}
  %is_last = comb.icmp eq %sent, %last : i{bits}
  %ending = comb.and %drain, %is_last : i1
  %going = comb.xor %ending, %true : i1
  %stay = comb.and %run, %going : i1
  %run_next = comb.or %start, %stay : i1
  hw.output %ready, %data, %full, %done : i1, i{width}, i1, i1
}}
"""
    kind = f"ui{width}"
    return HardwareDesign(
        top="offset",
        hw_text=text,
        verilog=export_verilog(text),
        arguments=("n", "x", "y"),
        results=(),
        scalars_in=(ScalarPort("n", kind, width),),
        scalars_out=(),
        arrays=(),
        streams=(
            StreamInterface("x", element or kind, width, "in"),
            StreamInterface("y", element or kind, width, "out"),
        ),
        report=_report("offset", None),
    )
