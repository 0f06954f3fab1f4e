"""Small texts that were wrong: messages, reports, maps and the command line say what is so."""

from __future__ import annotations

import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.sim.boundary.source_map import source_map
from allo.errors import (
    AlloError,
    HandleTypeError,
    InternalError,
    PartitionWarning,
    ScheduleError,
    SourceFileError,
    UnknownHandleError,
    UnsupportedSyntaxError,
)
from allo.ir.types import int32

double = lambda x: x + x  # noqa: E731 (a lambda is what is passed)


def add(x: int32[16]) -> int32[16]:
    y: int32[16]
    for i in range(16):
        y[i] = x[i] + 1
    return y


def scatter(x: int32[16], k: int32[16]) -> int32[16]:
    y: int32[16]
    for i in range(16):
        y[k[i]] = x[i] + 1
    return y


def halve(n: int32) -> int32:
    c: int32 = 0
    while n > 1:
        n = n // 2
        c += 1
    return c


def rows(W: int32[8, 16], x: int32[16]) -> int32[8]:
    y: int32[8]
    for i in range(8):
        a: int32 = 0
        for k in range(16):
            a += W[i, k] * x[k]
        y[i] = a * a // 3
    return y


def test_a_lambda_is_said_to_be_one() -> None:
    with pytest.raises(UnsupportedSyntaxError) as caught:
        allo.customize(double)
    assert caught.value.message == "A lambda cannot be a kernel: its arguments have no types."
    assert "double = lambda x: x + x" in str(caught.value)
    assert caught.value.help == "write it with def and annotate what it takes and returns."


def test_a_function_without_loops_is_said_to_have_none() -> None:
    with pytest.raises(UnknownHandleError) as caught:
        allo.customize(halve).pipeline("while")
    assert caught.value.help == "function halve has no `for` loops."


def test_near_misses_of_primitives_and_modules() -> None:
    s = allo.customize(add)
    with pytest.raises(UnknownHandleError) as caught:
        s.pipline("i")
    assert caught.value.help == "did you mean 'pipeline'? its buffers are x, y."
    with pytest.raises(AttributeError, match="no attribute 'custmize'; did you mean 'customize'"):
        allo.custmize
    with pytest.raises(AttributeError, match="'allo.dataflow' has no attribute 'kernl'; did you"):
        df.kernl


def test_more_banks_than_elements_is_a_warning() -> None:
    s = allo.customize(add)
    with pytest.warns(PartitionWarning) as caught:
        s.partition(s.x, partition_type=allo.Partition.Cyclic, dim=1, factor=17)
    assert str(caught[0].message).endswith(
        "x is to have 17 banks along dimension 1, but has 16 elements there: it gets 16 banks."
    )
    assert caught[0].filename == __file__
    x = np.arange(16, dtype=np.int32)
    np.testing.assert_array_equal(s.build()(x), x + 1)


def test_every_line_of_hls_names_its_python_line() -> None:
    text = str(allo.customize(scatter).build(target="vhls"))
    assert "<index>" not in text
    assert "0 + v" not in text
    comments = [line.split("// ")[1] for line in text.splitlines() if "\t// " in line]
    assert len(comments) > 5
    assert all(comment.startswith("test_small_lies.py:") for comment in comments)


@pytest.mark.parametrize("kernel", [add, scatter, halve, rows])
def test_every_name_of_the_source_map_is_in_the_verilog(kernel) -> None:
    s = allo.customize(kernel)
    design = s.build(target="verilog", simulator="jit").design
    known = source_map(design)
    assert sum(map(len, known.values())) >= 2
    for module, names in known.items():
        text = design.verilog.split(f"module {module}(")[1].split("endmodule")[0]
        for name in names:
            assert f"{name}" in text


def test_the_report_says_what_its_resources_count() -> None:
    report = allo.customize(rows).build(target="verilog", simulator="jit").report
    (note,) = [note for note in report.notes if "Resources" in note]
    assert "multiplexers, control, counters, FIFOs, registers and memories;" in note
    inner = report.functions[-1].loops[0].children[0]
    assert f"{8 * inner.cycles:,}" in report.table()


# --- schedule errors -----------------------------------------------------------------------


MISTAKES = {
    "missing argument": lambda s: s.split("i"),
    "unknown argument": lambda s: s.split("i", facto=2),
    "factor": lambda s: s.split("i", 0),
    "text factor": lambda s: s.split("i", "2"),
    "loop": lambda s: s.split("j", 2),
    "loop None": lambda s: s.split(None, 2),
    "loop 5": lambda s: s.pipeline(5),
    "loop list": lambda s: s.pipeline(["i"]),
    "ii": lambda s: s.pipeline("i", initiation_interval=-1),
    "reorder": lambda s: s.reorder(),
    "reorder 3": lambda s: s.reorder(3, 4),
    "fuse": lambda s: s.fuse("i"),
    "fuse None": lambda s: s.fuse(None, None),
    "unroll": lambda s: s.unroll("i", factor=-3),
    "unroll text": lambda s: s.unroll("i", factor="x"),
    "partition": lambda s: s.partition(5),
    "partition None": lambda s: s.partition(None),
    "partition kind": lambda s: s.partition(s.x, partition_type="cyclic"),
    "partition dim": lambda s: s.partition(s.x, dim=9),
    "partition factor": lambda s: s.partition(s.x, allo.Partition.Cyclic, 1, 2.5),
    "reshape": lambda s: s.reshape(s.x, 5),
    "reshape size": lambda s: s.reshape(s.x, (3, 5)),
    "reuse_at": lambda s: s.reuse_at(s.x, 3),
    "buffer_at": lambda s: s.buffer_at(None, "i"),
    "compute_at": lambda s: s.compute_at("i", None),
    "to": lambda s: s.to(s.x, 5),
    "unfold": lambda s: s.unfold("S_i_0", "x"),
    "compose": lambda s: s.compose(3),
    "compose nothing": lambda s: s.compose(),
    "get_loops": lambda s: s.get_loops("nobody"),
    "get_loops 5": lambda s: s.get_loops(5),
    "bands": lambda s: s.get_loops().get_outer_most(),
    "inline": lambda s: s.inline("nobody"),
    "inline 5": lambda s: s.inline(5),
    "parallel": lambda s: s.parallel("q"),
    "dataflow": lambda s: s.dataflow(5),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_in_schedules_are_named_and_change_nothing(mistake) -> None:
    s = allo.customize(add)
    before = str(s.module)
    with pytest.raises(AlloError) as caught:
        mistake(s)
    assert not isinstance(caught.value, InternalError)
    assert str(s.module) == before
    assert s.primitive_sequences == []


def test_arguments_of_primitives_are_named() -> None:
    s = allo.customize(add)
    with pytest.raises(ScheduleError) as caught:
        s.split("i", facto=2)
    assert str(caught.value) == (
        "split cannot be called so: missing a required argument: 'factor'.\n"
        "help: did you mean 'factor'? it takes axis, factor."
    )
    with pytest.raises(HandleTypeError, match="must be a Schedule object, got int"):
        s.compose(3)


def test_the_traceback_of_a_schedule_error_is_short() -> None:
    """The user's line, and the primitive: nothing of what lies below."""
    s = allo.customize(add)
    with pytest.raises(ScheduleError) as caught:
        s.split("i", 0)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert len(frames) <= 2
    assert frames[0].name == "test_the_traceback_of_a_schedule_error_is_short"


# --- external files -------------------------------------------------------------------------


def test_external_files(tmp_path: Path) -> None:
    with pytest.raises(SourceFileError, match=r"Path does not exist: .*nowhere.cpp"):
        allo.IPModule(top="f", impl=str(tmp_path / "nowhere.cpp"))
    (tmp_path / "binary.cpp").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(AlloError, match="binary.cpp cannot be read"):
        allo.IPModule(top="f", impl=tmp_path / "binary.cpp")


# --- the command line -----------------------------------------------------------------------


def test_a_file_finds_the_modules_beside_it(tmp_path: Path) -> None:
    (tmp_path / "sizes_of_this_test.py").write_text("N = 8\n")
    (tmp_path / "k.py").write_text(
        "from sizes_of_this_test import N\nfrom allo.ir.types import int32\n"
        "def f(x: int32[N]) -> int32:\n    return x[0]\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "allo", "build", f"{tmp_path}/k.py:f", "--target", "vhls"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "int32_t x[8]" in done.stdout
    unwritable = subprocess.run(
        [sys.executable, "-m", "allo", "build", f"{tmp_path}/k.py:f", "-o", "/proc/x/y"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert unwritable.returncode == 1
    assert unwritable.stderr.startswith("AlloError: /proc/x/y cannot be written: ")
