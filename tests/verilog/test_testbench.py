"""Test benches with recorded vectors: they pass in Verilator and Icarus, and fail where they should."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo import Partition
from allo.backend.sim.engines.verilator.tools import find_verilator
from allo.errors import BoundaryError, BuildError
from allo.ir.types import Fixed, Int, Stateful, Stream, Struct, UInt, bool, float32, index, int32
from tests.verilog.readers import HAS_ICARUS, TIME_LIMIT

RNG = np.random.default_rng(7)
OBJECTS = Path(__file__).with_name("objects.sh")
SIMULATORS = ["verilator", *(["icarus"] if HAS_ICARUS else [])]


def run(folder: Path, simulator: str) -> tuple[int, str]:
    """The exit status of a test bench, and what it says; it finds Verilator by itself.

    Verilator's run-time library is compiled without optimisation, and its objects are kept.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith("VERILATOR")}
    done = subprocess.run(
        ["sh", "run.sh", simulator],
        cwd=folder,
        env=kept | {"MAKEFLAGS": f"OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0 OBJCACHE={OBJECTS}"},
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def check(module, arguments, folder: Path, simulator: str) -> int:
    """The test bench of a call passes, with the cycles that the module counts; the words it compares."""
    before = [np.copy(a) for a in arguments]
    module.write_testbench(*arguments, path=folder)
    for kept, argument in zip(before, arguments, strict=True):
        np.testing.assert_array_equal(kept, argument)
    module(*arguments)
    status, said = run(folder, simulator)
    found = re.search(r"^PASS: (\d+) cycles, (\d+) words compared$", said, re.M)
    assert status == 0 and found, said
    assert int(found[1]) == module.cycles
    return int(found[2])


def gemm(A: float32[6, 8], B: float32[8, 5]) -> float32[6, 5]:
    C: float32[6, 5] = 0
    for i, j in allo.grid(6, 5):
        for k in allo.reduction(8):
            C[i, j] += A[i, k] * B[k, j]
    return C


def search(A: int32[64], key: int32) -> index:
    i: index = 0
    while A[i] != key:
        i += 1
    return i


pair = Struct({"low": UInt(5), "high": Int(40)})


def mixed(p: pair[6], f: Fixed(12, 4)[6], flag: bool, x: float32) -> float32:
    total: float32 = x
    for i in range(6):
        f[i] = f[i] + 1
        p[i]["low"] = p[i]["low"] + 3
        if flag:
            total += x
    return total


def counted(x: int32[4]) -> int32:
    total: int32 @ Stateful = 100
    for i in range(4):
        total += x[i]
    return total


def passed(x: Stream[int32, 4], y: Stream[Int(70), 4]):
    for i in range(16):
        word: Int(70) = x.get()
        y.put(word)


@df.region()
def network(A: int32[8, 4], B: int32[8, 4]):
    pipe: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def first(a: int32[8, 4]):
        for i, j in allo.grid(8, 4):
            pipe.put(a[i, j])

    @df.kernel(mapping=[1], args=[B])
    def second(b: int32[8, 4]):
        for i, j in allo.grid(8, 4):
            b[i, j] = pipe.get() + 1


def hardware(schedule):
    return schedule.build(target="verilog", simulator="jit")


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_banks_and_floats(simulator: str, tmp_path: Path) -> None:
    s = allo.customize(gemm)
    s.pipeline("j")
    s.partition(s.A, dim=2, partition_type=Partition.Cyclic, factor=3)
    s.partition(s.B, dim=1, partition_type=Partition.Block, factor=4)
    s.partition(s.C, dim=2, partition_type=Partition.Cyclic, factor=2)
    a = RNG.standard_normal((6, 8)).astype(np.float32)
    b = RNG.standard_normal((8, 5)).astype(np.float32)
    folder = tmp_path / "tb"
    assert check(hardware(s), (a, b), folder, simulator) >= 30
    assert {f"C_bank{k}_expected.hex" for k in (0, 1)} < {f.name for f in folder.iterdir()}


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_scalars(simulator: str, tmp_path: Path) -> None:
    data = np.arange(64, dtype=np.int32) * 5
    module = hardware(allo.customize(search))
    assert check(module, (data, 115), tmp_path / "tb", simulator) == 1
    text = (tmp_path / "tb" / "search_tb.sv").read_text()
    assert "key = 32'h73;" in text
    assert "if (res !== 64'h17)" in text


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_structs_fixed_point_and_flags(simulator: str, tmp_path: Path) -> None:
    module = hardware(allo.customize(mixed))
    given = [(k, -(1 << 30) * k) for k in range(6)]
    p = np.array(given, [("low", np.uint8), ("high", np.int64)])
    f = np.linspace(-3, 3, 6)
    assert check(module, (p, f, True, 1.5), tmp_path / "tb", simulator) == 13


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_streams(simulator: str, tmp_path: Path) -> None:
    s = allo.customize(passed)
    s.pipeline("i")
    words = RNG.integers(-100, 100, 16).astype(np.int32)
    module = hardware(s)
    module.write_testbench(words, np.array([0] * 16, object), path=tmp_path / "tb")
    status, said = run(tmp_path / "tb", simulator)
    assert (status, "PASS: " in said) == (0, True), said
    expected = "".join(f"{int(w) & (1 << 70) - 1:018x}\n" for w in words)
    assert (tmp_path / "tb" / "y_words.hex").read_text() == expected


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_region(simulator: str, tmp_path: Path) -> None:
    a, b = RNG.integers(-9, 9, (2, 8, 4)).astype(np.int32)
    assert check(hardware(df.customize(network)), (a, b), tmp_path / "tb", simulator) == 32


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_call_is_recorded_from_reset(simulator: str, tmp_path: Path) -> None:
    module = hardware(allo.customize(counted))
    x = np.array([1, 2, 3, 4], np.int32)
    assert [module(x), module(x)] == [110, 120]
    module.write_testbench(x, path=tmp_path / "tb")
    assert module(x) == 130
    assert "if (res !== 32'h6e)" in (tmp_path / "tb" / "counted_tb.sv").read_text()
    status, said = run(tmp_path / "tb", simulator)
    assert (status, "PASS: " in said) == (0, True), said


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("bench") / "tb"
    a, b = RNG.standard_normal((2, 8, 8)).astype(np.float32)
    module = hardware(allo.customize(gemm))
    return module.write_testbench(a[:6], np.ascontiguousarray(b[:, :5]), path=folder)


@pytest.mark.parametrize(
    ("simulator", "word"),
    [("verilator", 17), *((s, w) for s in SIMULATORS[1:] for w in (0, 17, 29))],
)
def test_a_wrong_vector_fails(bench: Path, simulator: str, word: int, tmp_path: Path) -> None:
    folder = shutil.copytree(bench, tmp_path / "tb")
    file = folder / "C_bank0_expected.hex"
    words = file.read_text().split()
    assert len(words) == 30
    right = words[word]
    words[word] = f"{int(right, 16) ^ 1:08x}"
    file.write_text("\n".join(words))
    status, said = run(folder, simulator)
    assert status != 0
    assert f"FAIL: C, word {word} is {right}, expected {words[word]}" in re.sub(" +", " ", said)
    assert "FAIL: 1 differences in 30 words" in re.sub(" +", " ", said).replace("          ", "")
    assert "PASS" not in said


def test_a_folder_that_make_cannot_build_in(bench: Path, tmp_path: Path) -> None:
    """Verilator is told of another folder, which goes again; GNU Make takes none with a space."""
    folder = shutil.copytree(bench, tmp_path / "my $bench")
    spare = tmp_path / "spare"
    spare.mkdir()
    stub = tmp_path / "verilator"
    stub.write_text(
        "#!/bin/sh\n"
        'while [ "$1" != -Mdir ]; do shift; done\n'
        'echo "objects in $2"; printf "#!/bin/sh\\necho PASS\\n" > "$2/Vgemm_tb"; chmod +x "$2/Vgemm_tb"\n'
    )
    stub.chmod(0o755)
    done = subprocess.run(
        ["sh", "run.sh"],
        cwd=folder,
        env={**os.environ, "VERILATOR": str(stub), "TMPDIR": str(spare)},
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(rf"objects in {spare}/\S+\nPASS\n", done.stdout)
    assert not list(spare.iterdir())


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_design_that_is_late_fails(bench: Path, simulator: str, tmp_path: Path) -> None:
    folder = shutil.copytree(bench, tmp_path / "tb")
    file = folder / "gemm.sv"
    text = file.read_text()
    (last,) = re.findall(r"assign done = (.+);", text)
    late = f"reg late;\n  always_ff @(posedge clk) late <= {last};\n  assign done = late;"
    file.write_text(text.replace(f"assign done = {last};", late, 1))
    status, said = run(folder, simulator)
    assert status != 0
    assert re.search(r"FAIL: +\d+ cycles, and \d+ when the call was recorded", said)


def test_a_test_bench_has_no_warning(bench: Path) -> None:
    found = find_verilator()
    top = ["--lint-only", "-Wall", "--timing", "--top-module", "gemm_tb", "-f", "files.f"]
    done = subprocess.run(
        [str(found.program), *top],
        cwd=bench,
        env={**os.environ, "VERILATOR_ROOT": str(found.root)},
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
        check=False,
    )
    assert (done.returncode, re.findall(r"^%.*", done.stderr, re.M)) == (0, [])


def test_what_allo_did_not_write_stays(bench: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    module = hardware(allo.customize(counted))
    x = np.zeros(4, np.int32)
    with pytest.raises(
        BuildError, match=r"mine exists and was not written by Allo\.\nhelp: choose"
    ):
        module.write_testbench(x, path=tmp_path / "mine")
    assert [f.name for f in (tmp_path / "mine").iterdir()] == ["notes.txt"]
    with pytest.raises(BoundaryError, match="got 0 but expected 1"):
        module.write_testbench(path=tmp_path / "other")
    assert not (tmp_path / "other").exists()
    first = {f.name for f in module.write_testbench(x, path=tmp_path / "tb").iterdir()}
    assert {f.name for f in module.write_testbench(x + 1, path=tmp_path / "tb").iterdir()} == first
