"""Energy from activity: bits that change in a waveform, and published energies of each."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

import allo
from allo.cli import main
from allo.errors import ModelError
from allo.ir.types import int8, int16
from allo.models.energy.activity import Activity, activity, kinds_of
from allo.models.energy.estimate import Energy, energy_of
from allo.models.energy.published import NET_PJ, PRODUCT_PJ, READ_PJ

from .support import Network

HEAD = """$timescale 1ps $end
$scope module TOP $end
 $var wire 1 # clk $end
 $var wire 4 ! word [3:0] $end
 $scope module unit $end
  $var wire 4 ! come [3:0] $end
  $var wire 8 " product [7:0] $end
  $var wire 8 $ q [7:0] $end
 $upscope $end
$upscope $end
"""
KINDS = {"product": "product", "q": "read"}


def wave(times: int) -> list[str]:
    """Words that change two bits, five and one, so many times, under a clock."""
    lines = HEAD.splitlines() + ["#0", "0#", "b0000 !", 'b0 "', "bxxxxxxxx $"]
    for turn in range(times):
        word, product, read = (("b0011", "b00011111", "b1"), ("b0", "b0", "b0"))[turn % 2]
        lines += [f"#{turn * 10 + 5}", "1#", f"{word} !", f'{product} "', f"{read} $", "0#"]
    return lines


def test_changed_bits_are_counted_by_what_they_are() -> None:
    assert activity(wave(3), KINDS) == Activity(nets=6, products=15, reads=3)


def test_twice_the_activity_is_twice_the_dynamic_energy() -> None:
    once, twice = (Energy(activity(wave(n), KINDS), 100, 50.0, 20.0) for n in (4, 8))
    assert twice.dynamic_nj == pytest.approx(2 * once.dynamic_nj)
    assert once.dynamic_nj == pytest.approx((8 * NET_PJ + 20 * PRODUCT_PJ + 4 * READ_PJ) / 1000)
    assert once.static_nj == twice.static_nj == 40.0


def test_an_idle_design_takes_static_energy_alone() -> None:
    idle = HEAD.splitlines() + ["#0", "b0101 !"] + [line for n in range(9) for line in ("1#", "0#")]
    spent = Energy(activity(idle, KINDS), 1000, 100.0, 212.0)
    assert (spent.dynamic_nj, spent.static_nj) == (0.0, 2120.0)


def test_every_output_says_what_the_figures_are() -> None:
    known, unknown = (Energy(Activity(100), 10, 100.0, static) for static in (5.0, None))
    what = "estimated from simulated activity and published energies; not measured on a board"
    assert what in str(known) and what in str(unknown)
    assert known.to_dict()["note"] == what
    assert unknown.static_nj is None
    assert "static power is not known: give that of the part's data sheet" in str(unknown)
    assert unknown.to_dict()["note"].startswith(what)


def test_a_static_power_that_is_none() -> None:
    with pytest.raises(ModelError, match="static power is -1 mW, and no power"):
        energy_of(None, static_mw=-1)


def test_products_and_words_of_memories_have_names_in_the_design() -> None:
    def weighed(a: int8, b: int8, at: int8) -> int16:
        table: int8[64] = 0
        for i in range(64):
            table[i] = a + i
        return table[at] * b

    verilog = allo.customize(weighed).build(target="verilog").verilog
    kinds = set(kinds_of(verilog).values())
    assert kinds == {"product", "read"}


def test_the_command_synthesises_and_counts_what_changes(tmp_path: Path) -> None:
    net = Network()
    x = net.quant(net.input(1, 4), 1.0, 4)
    y = net.quant(net("MatMul", x, np.arange(12.0).reshape(4, 3) - 5), 8.0, 4)
    file, data, out = tmp_path / "small.onnx", tmp_path / "given.npy", tmp_path / "small.json"
    onnx.save(net.model(y), str(file))

    def found(sample: list[float]) -> dict:
        np.save(data, np.array([[sample]], np.float32))
        given = ["--data", str(data), "--simulate", "1", "--device", "ecp5", "--clock", "50"]
        wanted = ["--energy", "--static-mw", "10", "--synthesize", "ecp5", "-o", str(out)]
        main(["network", str(file), *given, *wanted])
        return json.loads(out.read_text())

    few, many = found([0, 0, 0, 0]), found([7, -8, 5, -6])
    assert few["energy"]["dynamic_nj"] < many["energy"]["dynamic_nj"]
    assert many["energy"]["static_nj"] == pytest.approx(10 * many["cycles"] / 50)
    made = many["synthesised"]
    assert made["fmax_mhz"] > 20
    assert 0 < made["resources"]["lut"] < 2 * made["estimated"]["lut"]
