"""``df.build`` for the HLS targets: the same modes, folders and results under each published name."""

from __future__ import annotations

import numpy as np
import pytest

import allo.dataflow as df
from allo.errors import InvalidModeError
from allo.ir.types import Stream, int32

A = np.arange(8, dtype=np.int32)


@df.region()
def plus_one(a: int32[8], b: int32[8]):
    pipe: Stream[int32, 4]

    @df.kernel(mapping=[1], args=[a])
    def send(x: int32[8]):
        for i in range(8):
            pipe.put(x[i])

    @df.kernel(mapping=[1], args=[b])
    def receive(y: int32[8]):
        for i in range(8):
            y[i] = pipe.get() + 1


@df.region()
def sums(a: int32[8], n: int32, b: int32[8]):
    parts: Stream[int32, 2][2]

    @df.kernel(mapping=[2], args=[a])
    def half(x: int32[8]):
        p = df.get_pid()
        total: int32 = n
        for i in range(4):
            total += x[4 * p + i]
        parts[p].put(total)

    @df.kernel(mapping=[1], args=[b])
    def join(y: int32[8]):
        y[0] = parts[0].get()
        y[1] = parts[1].get()


@df.region()
def blocks(a: int32[8], b: int32[8]):
    pipe: Stream[int32[4], 2]

    @df.kernel(mapping=[1], args=[a])
    def cut(x: int32[8]):
        for i in range(2):
            row: int32[4] = 0
            for j in range(4):
                row[j] = x[4 * i + j]
            pipe.put(row)

    @df.kernel(mapping=[1], args=[b])
    def glue(y: int32[8]):
        for i in range(2):
            row: int32[4] = pipe.get()
            for j in range(4):
                y[4 * i + j] = row[j] * 3


PROGRAMS = {
    "plus_one": (plus_one, (), A + 1),
    "sums": (sums, (10,), [16, 32, 0, 0, 0, 0, 0, 0]),
    "blocks": (blocks, (), A * 3),
}
TARGETS = ("vhls", "vivado_hls", "vitis_hls")
on_every_program = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)


@on_every_program
@pytest.mark.parametrize("target", [*TARGETS, "simulator", "verilog"])
def test_a_region_runs_under_each_name(target, program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    region, scalars, expected = program
    b = np.zeros(8, np.int32)
    df.build(region, target=target, mode="csim")(A, *scalars, b)
    np.testing.assert_array_equal(b, expected)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", ["csim", "csyn"])
def test_a_mode_and_a_folder_are_kept(target, mode, tmp_path):
    project = tmp_path / "x.prj"
    mod = df.build(plus_one, target=target, mode=mode, project=str(project))
    assert mod.mode == mode
    assert mod.project == str(project)
    assert (project / "kernel.cpp").is_file()


@pytest.mark.parametrize("target", [*TARGETS, "tapa", "catapult", "pynq"])
def test_without_a_mode_there_is_text_and_no_folder(target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mod = df.build(plus_one, target=target, mode=None)
    assert str(mod) == mod.hls_code
    assert "plus_one(" in mod.hls_code
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("target", TARGETS)
def test_synthesis_writes_the_default_folder(target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert df.build(plus_one, target=target, mode="csyn").project == str(tmp_path / "top.prj")
    assert (tmp_path / "top.prj" / "run.tcl").is_file()


@pytest.mark.parametrize("target", TARGETS)
def test_a_folder_without_a_mode_is_refused(target, tmp_path):
    with pytest.raises(InvalidModeError) as caught:
        df.build(plus_one, target=target, mode=None, project=str(tmp_path / "x.prj"))
    assert caught.value.message == "mode must be specified when project is specified."
    assert caught.value.help.startswith(f"modes of {target}: csim, csyn")


def test_the_default_folder_may_be_named_where_none_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    b = np.zeros(8, np.int32)
    df.build(plus_one, target="simulator", mode="csim", project="top.prj")(A, b)
    np.testing.assert_array_equal(b, A + 1)
    assert not list(tmp_path.iterdir())
    with pytest.raises(InvalidModeError, match="Target simulator writes no project"):
        df.build(plus_one, target="simulator", project="other.prj")
