"""Headers are precompiled for whoever compiles much: the first builds on a machine do not wait for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import allo
import allo.backend.sim.engines.verilator.compile as verilator_models
import allo.dataflow as df
from allo.backend.sim.engines.verilator.runtime import Runtime
from allo.backend.sim.engines.verilator.tools import find_compiler, find_verilator
from allo.dialects.caches import tally
from allo.dialects.processes.tools import run_tool
from allo.ir.types import Stream, int32


@pytest.fixture
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALLO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(tally, "ENOUGH", 1)
    return tmp_path / "cache"


def double(x: int32) -> int32:
    return x * 2


def triple(x: int32) -> int32:
    return x * 3


@df.region()
def network(a: int32[4], b: int32[4]):
    fifo: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[a])
    def produce(x: int32[4]):
        for i in range(4):
            fifo.put(x[i])

    @df.kernel(mapping=[1], args=[b])
    def consume(y: int32[4]):
        for i in range(4):
            y[i] = fifo.get() + 1


def test_uses_are_counted_until_they_are_enough(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("ALLO_CACHE_DIR", str(tmp_path))
    seen = []
    for _ in range(5):
        seen.append(tally.is_worth_it(("a", "b"), "key"))
        tally.note_use(("a", "b"), "key")
    assert seen == [False, False, False, True, True]
    assert not tally.is_worth_it(("a", "b"), "another")
    assert [(p.name, p.stat().st_size) for p in (tmp_path / "a" / "b").iterdir()] == [
        ("key.uses", tally.ENOUGH)
    ]


def test_uses_are_counted_where_the_cache_cannot_be_written(monkeypatch) -> None:
    monkeypatch.setenv("ALLO_CACHE_DIR", "/proc/nocache")
    tally.spare_folder(make=True)
    for _ in range(tally.ENOUGH):
        assert not tally.is_worth_it(("of", "this"), "test")
        tally.note_use(("of", "this"), "test")
    assert tally.is_worth_it(("of", "this"), "test")


def test_csim_precompiles_for_the_kernels_after_the_first(fresh_cache: Path) -> None:
    precompiled, runtime = "hls/prelude/*/prelude.h.gch", "hls/runtime/*/runtime.o"
    assert allo.customize(double).build(target="vhls")(4) == 8
    assert [*fresh_cache.glob(precompiled)] == []
    [shared] = fresh_cache.glob(runtime)
    compiled = shared.stat().st_mtime_ns
    assert allo.customize(triple).build(target="vhls")(4) == 12
    assert len([*fresh_cache.glob(precompiled)]) == 1

    out = np.zeros(4, np.int32)
    df.customize(network).build(target="vhls")(np.arange(4, dtype=np.int32), out)
    np.testing.assert_array_equal(out, [1, 2, 3, 4])
    assert [*fresh_cache.glob(runtime)] == [shared]
    assert shared.stat().st_mtime_ns == compiled


def test_verilator_precompiles_for_the_models_after_the_first(
    fresh_cache: Path, tmp_path: Path
) -> None:
    runtime = Runtime(find_verilator(), find_compiler(), "", 300)
    source, target = tmp_path / "unit.cpp", tmp_path / "unit.o"
    source.write_text("VerilatedContext* made() { return new VerilatedContext; }\n")
    assert "-include verilated.h " in " ".join(runtime.unit_command(source, target))
    assert [*fresh_cache.rglob("*.gch")] == []
    runtime.note_model()
    command = runtime.unit_command(source, target, "-Winvalid-pch", "-Werror", "-H")
    [header] = fresh_cache.rglob("*.gch")
    assert str(header.with_suffix("")) in command
    read = run_tool(command, tmp_path, what="A unit", timeout_s=300)
    assert f"! {header}" in read.splitlines()
    assert target.exists()


@pytest.mark.parametrize("small", [0, 1 << 30], ids=["two units", "one unit"])
def test_set_up_code_in_a_unit_of_its_own(small: int, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(verilator_models, "_SMALL", small)
    design = allo.customize(triple).build(target="verilog")
    units: list[str] = []
    command = Runtime.unit_command

    def noted(self: Runtime, source: Path, *rest):
        units.append(source.read_text())
        return command(self, source, *rest)

    monkeypatch.setattr(Runtime, "unit_command", noted)
    monkeypatch.setattr(verilator_models, "cached", _in_folder(tmp_path))
    assert design(5) == 15
    assert len(units) == (2 if small == 0 else 1)
    optimised, unoptimised = "".join(units).split("optimize", 1)
    assert "root__0.cpp" in optimised
    for name in ("Slow.cpp", "Vmodel.cpp", "wrapper.cpp"):
        assert name in unoptimised and name not in optimised


def _in_folder(folder: Path):
    """Instead of the cache: models are made in ``folder``."""

    def made(kind, key, files, make, **_):
        make(folder)
        return folder

    return made
