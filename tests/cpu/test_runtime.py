"""The native runtime is found or built, and says what is missing when it cannot be."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from allo.backend.cpu.native import runtime
from allo.dialects.diagnostics import BuildError, ToolFailedError, ToolMissingError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache and no prebuilt library."""
    monkeypatch.setenv("ALLO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(runtime, "_LIBRARY", "liballo_test_runtime.so")
    monkeypatch.delenv("CXX", raising=False)
    return tmp_path


def test_it_is_compiled_once(fresh: Path):
    first = runtime._compiled(())
    stamp = first.stat().st_mtime_ns
    assert runtime._compiled(()) == first
    assert first.stat().st_mtime_ns == stamp
    assert runtime._compiled(("ALLO_UCONTEXT",)) != first


def test_without_a_compiler_the_remedy_is_named(fresh: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(fresh))
    with pytest.raises(ToolMissingError, match="needed to build the runtime of the") as caught:
        runtime._compiled(())
    assert caught.value.help == "install g++ (apt install g++), or set CXX to a C++17 compiler."


def test_a_failing_compiler_is_quoted(fresh: Path, monkeypatch: pytest.MonkeyPatch):
    fake = fresh / "fakexx"
    fake.write_text("#!/bin/sh\necho 'fatal error: no headers' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("CXX", str(fake))
    with pytest.raises(
        ToolFailedError, match="Compiling the runtime of .* failed with status 1"
    ) as caught:
        runtime._compiled(())
    assert caught.value.notes == ("fatal error: no headers",)
    assert not list((fresh / "cache" / "runtime").iterdir())


def test_a_library_of_another_version_is_refused(fresh: Path, monkeypatch: pytest.MonkeyPatch):
    import ctypes

    library = ctypes.CDLL(str(runtime._compiled(())))
    monkeypatch.setattr(runtime, "_ABI", 99)
    with pytest.raises(BuildError, match="of another version"):
        runtime.Runtime(library)


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is an optional way to build")
def test_cmake_builds_the_library_where_it_is_looked_for(tmp_path: Path):
    environment = {**os.environ, "CMAKE_BUILD_PARALLEL_LEVEL": "2"}
    build, prefix = str(tmp_path / "build"), tmp_path / "prefix"
    for command in (
        ["cmake", "-S", str(ROOT), "-B", build],
        ["cmake", "--build", build],
        ["cmake", "--install", build, "--prefix", str(prefix)],
    ):
        subprocess.run(command, check=True, capture_output=True, timeout=120, env=environment)
    assert (prefix / "allo" / "backend" / "runtime" / "liballo_runtime.so").exists()
