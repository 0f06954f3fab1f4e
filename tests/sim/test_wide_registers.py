"""Registers, ports and words wider than a machine's are kept as parts in the in-process engine."""

from __future__ import annotations

import re

import numpy as np
import pytest

import allo
from allo.backend.rtl.circt import export_verilog
from allo.backend.rtl.netlist.operations import constant_text
from allo.backend.sim.engines.arc.lowered import lower_design
from allo.backend.sim.engines.arc.words.parts import WIDEST
from allo.backend.sim.engines.interface import BuildOptions, RunOptions, find_engine
from allo.ir.types import UInt

from . import designs

WIDTHS = (129, 192, 200, 257, 1001)


def _logic(rng: np.random.Generator, width: int) -> str:
    """Registers of a width, and random logic between them; ``%r`` depends on all their bytes.

    A register without reset stands still in it: the in-process engine moves none of those then.
    """
    lines, registers = [], [f"%w{n}" for n in range(4)]
    copies = -(-width // 8)
    lines.append(f"%many = comb.replicate %sum : (i8) -> i{8 * copies}")
    lines.append(f"%first = comb.extract %many from 0 : (i{8 * copies}) -> i{width}")
    values = ["%first", *registers]

    def new(text: str) -> None:
        name = f"%v{len(values)}"
        lines.append(f"{name} = {text}")
        values.append(name)

    for number in range(24):
        x, y = (str(rng.choice(values)) for _ in range(2))
        cut = int(rng.integers(1, width))
        match int(rng.integers(0, 7)):
            case 0 | 1:
                new(f"comb.{rng.choice(['and', 'or', 'xor'])} {x}, {y} : i{width}")
            case 2:
                lines.append(f"%t{number} = comb.extract {x} from {cut} : (i{width}) -> i1")
                new(f"comb.mux %t{number}, {x}, {y} : i{width}")
            case 3:
                lines.append(f"%l{number} = comb.extract {x} from 0 : (i{width}) -> i{cut}")
                lines.append(
                    f"%h{number} = comb.extract {y} from {cut} : (i{width}) -> i{width - cut}"
                )
                new(f"comb.concat %l{number}, %h{number} : i{cut}, i{width - cut}")
            case 4:
                word = int.from_bytes(rng.bytes(copies), "little") & ((1 << width) - 1)
                lines.append(f"%c{number} = hw.constant {constant_text(word, width)} : i{width}")
                new(f"comb.xor {x}, %c{number} : i{width}")
            case 5:
                new(f"comb.add {x}, {y} : i{width}")
            case 6:
                lines.append(f"%s{number} = comb.extract {y} from 1 : (i{width}) -> i7")
                lines.append(f"%n{number} = hw.constant 0 : i{width - 7}")
                amount = f"comb.concat %n{number}, %s{number} : i{width - 7}, i7"
                lines.append(f"%a{number} = {amount}")
                new(f"comb.shru {x}, %a{number} : i{width}")
    for register in registers:
        new(f"comb.add {values[-1]}, {register} : i{width}")
    for number, register in enumerate(registers):
        word = constant_text(int.from_bytes(rng.bytes(8), "little") if number > 1 else 0, width)
        value = str(values[-1 - number])
        lines.append(f"%reset{number} = hw.constant {word} : i{width}")
        reset = f"reset %rst, %reset{number}" if number != 1 else ""
        kind, enable = ("compreg.ce", "%start, ") if number in (1, 3) else ("compreg", "")
        lines.append(f"{register} = seq.{kind} {value}, %clk, {enable}".rstrip(", "))
        lines[-1] += f" {reset} : i{width}"
    folded = []
    for number, register in enumerate(registers):
        for low in range(0, width, 8):
            size = min(8, width - low)
            name = f"%b{number}_{low}"
            lines.append(f"{name} = comb.extract {register} from {low} : (i{width}) -> i{size}")
            if size < 8:
                lines.append(f"%z{number} = hw.constant 0 : i{8 - size}")
                lines.append(f"{name}_ = comb.concat %z{number}, {name} : i{8 - size}, i{size}")
                name += "_"
            folded.append(name)
    lines += ["%three = hw.constant 3 : i8", f"%f0 = comb.or {folded[0]} : i8"]
    for number, name in enumerate(folded[1:]):
        lines.append(f"%m{number} = comb.mul %f{number}, %three : i8")
        lines.append(f"%f{number + 1} = comb.add %m{number}, {name} : i8")
    lines.append(f"%r = comb.or %f{len(folded) - 1} : i8")
    return "\n  ".join(lines)


def _answers(text: str, engine: str) -> list[int]:
    design = designs.scalar_adder(8)
    design.hw_text = design.hw_text.replace("%r = seq.compreg %sum, %clk : i8", text)
    if engine == "verilator":
        design.verilog = export_verilog(design.hw_text)
    else:
        lowered = lower_design(design)
        assert lowered.edge != lowered.settle
    model = find_engine(engine).build(design, BuildOptions())
    inputs = [{"a": a, "b": 7} for a in (3, 250, 0, 9, 77, 200)]
    return [model.run({}, values, RunOptions()).scalars["r"] for values in inputs]


@pytest.mark.parametrize("width", WIDTHS)
def test_random_words_in_both_engines(width):
    text = _logic(np.random.default_rng(width), width)
    ours = _answers(text, "jit")
    assert len(set(ours)) > 2
    assert ours == _answers(text, "verilator")


def lanes[P](w: UInt(8 * P)[8], out: UInt(8 * P)[8]):
    for t in range(8):
        word: UInt(8 * P) = w[t]
        done: UInt(8 * P) = 0
        for p in range(P):
            done[8 * p : 8 * p + 8] = word[8 * p : 8 * p + 8] * word[8 * p : 8 * p + 8] + p
        out[t] = done


def test_no_value_of_a_model_is_a_wide_word():
    s = allo.customize(lanes, instantiate=[48])
    s.unroll("p")
    s.pipeline("t")
    mod = s.build(target="verilog", simulator="jit")
    text = lower_design(mod.design).text
    assert max(int(bits) for bits in re.findall(r"\bi(\d+)\b", text)) <= WIDEST
    cells = np.random.default_rng(5).integers(0, 256, (8, 48)).astype(np.uint8)
    words = [int.from_bytes(row.tobytes(), "little") for row in cells]
    found = np.zeros(8, object)
    mod(np.array(words, object), found)
    cells = cells * cells + np.arange(48, dtype=np.uint8)
    assert list(found) == [int.from_bytes(row.tobytes(), "little") for row in cells]
