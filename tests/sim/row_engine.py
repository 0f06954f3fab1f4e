"""A hand-written gemm row engine of many float multiplier-adder pairs."""

from __future__ import annotations

import numpy as np

from allo.backend.rtl.circt import export_verilog
from allo.backend.rtl.design import ArrayInterface, BankPort, HardwareDesign, SharedUnit
from allo.backend.rtl.operators.library import OperatorLibrary
from allo.dialects.core.partition import ArrayLayout, Partition, make_dim, unpartitioned
from allo.dialects.reports.figures import DesignReport


def _delayed(lines: list[str], name: str, kind: str, cycles: int) -> str:
    for k in range(cycles):
        before = name if k == 0 else f"{name}_d{k - 1}"
        lines.append(f"  %{name}_d{k} = seq.compreg %{before}, %clk : {kind}")
    return f"%{name}_d{cycles - 1}" if cycles else f"%{name}"


def row_engine(lanes: int, depth: int) -> HardwareDesign:
    """``C[t, j] = sum over k of A[k, t] * B[k, j]``, one ``k, t`` a cycle, all ``j`` at once.

    ``t`` counts as far as the adder's latency, so that each sum is ready when its next term is.
    """
    library = OperatorLibrary("xcup", 200.0)
    multiply = library.find("arith.mulf", ("f32", "f32"), "f32")
    add = library.find("arith.addf", ("f32", "f32"), "f32")
    rows = add.latency
    wide = max(1, (depth * rows - 1).bit_length())
    kbits, tbits = max(1, (depth - 1).bit_length()), max(1, (rows - 1).bit_length())
    latency = 1 + multiply.latency + add.latency
    lines = [
        "  %false = hw.constant 0 : i1",
        "  %true = hw.constant 1 : i1",
        f"  %last_k = hw.constant {depth - 1} : i{kbits}",
        f"  %last_t = hw.constant {rows - 1} : i{tbits}",
        f"  %zero_k = hw.constant 0 : i{kbits}",
        f"  %zero_t = hw.constant 0 : i{tbits}",
        f"  %one_k = hw.constant 1 : i{kbits}",
        f"  %one_t = hw.constant 1 : i{tbits}",
        f"  %one_w = hw.constant 1 : i{wide}",
        f"  %zero_w = hw.constant 0 : i{wide}",
        "  %zero = hw.constant 0 : i32",
        "  %run = seq.compreg %run_next, %clk reset %rst, %false : i1",
        f"  %k = seq.compreg %k_next, %clk : i{kbits}",
        f"  %t = seq.compreg %t_next, %clk : i{tbits}",
        f"  %at = seq.compreg %at_next, %clk : i{wide}",
        f"  %k_last = comb.icmp eq %k, %last_k : i{kbits}",
        f"  %t_last = comb.icmp eq %t, %last_t : i{tbits}",
        f"  %k_first = comb.icmp eq %k, %zero_k : i{kbits}",
        "  %ending = comb.and %run, %k_last, %t_last : i1",
        "  %going = comb.xor %ending, %true : i1",
        "  %stay = comb.and %run, %going : i1",
        "  %run_next = comb.or %start, %stay : i1",
        f"  %t_plus = comb.add %t, %one_t : i{tbits}",
        "  %t_wrap = comb.or %start, %t_last : i1",
        f"  %t_next = comb.mux %t_wrap, %zero_t, %t_plus : i{tbits}",
        f"  %k_plus = comb.add %k, %one_k : i{kbits}",
        f"  %k_step = comb.mux %t_last, %k_plus, %k : i{kbits}",
        f"  %k_next = comb.mux %start, %zero_k, %k_step : i{kbits}",
        f"  %at_plus = comb.add %at, %one_w : i{wide}",
        f"  %at_next = comb.mux %start, %zero_w, %at_plus : i{wide}",
        "  %write = comb.and %run, %k_last : i1",
    ]
    first = _delayed(lines, "k_first", "i1", 1 + multiply.latency)
    write = _delayed(lines, "write", "i1", latency)
    row = _delayed(lines, "t", f"i{tbits}", latency)
    done = _delayed(lines, "ending", "i1", latency)
    ins, outs = ["in %A_rdata: i32"], [f"out A_addr: i{wide}", "out A_en: i1"]
    values, types = ["%at", "%run"], [f"i{wide}", "i1"]
    ports = "(clk: %clk: !seq.clock, ce: %true: i1, a: {}: i32, b: {}: i32) -> (r: i32)"
    for j in range(lanes):
        ins.append(f"in %B{j}_rdata: i32")
        outs += [f"out B{j}_addr: i{kbits}", f"out B{j}_en: i1"]
        outs += [f"out C{j}_addr: i{tbits}", f"out C{j}_en: i1", f"out C{j}_we: i1"]
        outs.append(f"out C{j}_wdata: i32")
        values += ["%k", "%run", row, write, write, f"%s{j}"]
        types += [f"i{kbits}", "i1", f"i{tbits}", "i1", "i1", "i32"]
        lines += [
            f'  %p{j} = hw.instance "mul{j}" @{multiply.module}'
            + ports.format("%A_rdata", f"%B{j}_rdata"),
            f"  %acc{j} = comb.mux {first}, %zero, %s{j} : i32",
            f'  %s{j} = hw.instance "add{j}" @{add.module}' + ports.format(f"%acc{j}", f"%p{j}"),
        ]
    top = f"""
hw.module @rows(in %clk: !seq.clock, in %rst: i1, in %start: i1, {", ".join(ins)},
                out done: i1, {", ".join(outs)}) {{
{chr(10).join(lines)}
  hw.output {done}, {", ".join(values)} : i1, {", ".join(types)}
}}
"""
    texts = {
        kind: f"{multiply.unit_module(kind).text()}\n{add.unit_module(kind).text()}{top}"
        for kind in ("rtl", "native")
    }
    complete = ArrayLayout(
        (unpartitioned([depth]).dims[0], make_dim(Partition.Complete, lanes, lanes))
    )
    out = ArrayLayout((unpartitioned([rows]).dims[0], make_dim(Partition.Complete, lanes, lanes)))

    def array(name, shape, layout, writes, bits):
        several = layout.bank_count > 1
        names = [f"{name}{j}" if several else name for j in range(layout.bank_count)]
        ports = tuple(BankPort(n, j, not writes, writes, bits) for j, n in enumerate(names))
        return ArrayInterface(name, "f32", 32, shape, layout, "out" if writes else "in", ports)

    arrays = (
        array("A", (depth, rows), unpartitioned((depth, rows)), False, wide),
        array("B", (depth, lanes), complete, False, kbits),
        array("C", (rows, lanes), out, True, tbits),
    )
    units = ("clk", "ce", "a", "b", "r")
    cycles = depth * rows + latency
    return HardwareDesign(
        top="rows",
        hw_text=texts["rtl"],
        native_hw_text=texts["native"],
        verilog=export_verilog(texts["rtl"]),
        arguments=("A", "B", "C"),
        results=(),
        scalars_in=(),
        scalars_out=(),
        arrays=arrays,
        report=DesignReport("test", "verilog", "rows", 200.0, cycles),
        shared_units=(SharedUnit(multiply.module, units), SharedUnit(add.module, units)),
    )


def reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """What the engine computes, one rounding after the other."""
    total = np.zeros((a.shape[1], b.shape[1]), np.float32)
    for k in range(a.shape[0]):
        total = (total + (a[k][:, None] * b[k][None, :]).astype(np.float32)).astype(np.float32)
    return total
