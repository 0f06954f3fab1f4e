"""Verilator's run-time library and header, compiled once a machine and kept in the cache."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from allo.dialects.caches.files import cached, content_key
from allo.dialects.diagnostics import BuildError
from allo.dialects.processes.tools import run_tools

from .tools import Verilator, compiler_version, run

HEADER = "allo_verilated.h"
_ARCHIVE = "libverilated.a"
LEVELS = ("O0", "O1")
_SOURCES = {
    "": ("verilated.cpp", "verilated_threads.cpp"),
    "vcd": ("verilated_vcd_c.cpp",),
    "fst": ("verilated_fst_c.cpp",),
}
_HEADERS = {
    "": ("verilated.h",),
    "vcd": ("verilated.h", "verilated_vcd_c.h"),
    "fst": ("verilated.h", "verilated_fst_c.h"),
}
_LIBRARIES = {"": (), "vcd": (), "fst": ("-llz4", "-lz")}


@dataclass(frozen=True, slots=True)
class Runtime:
    """The prepared run-time library.

    Attributes:
        compile_flags: flags every translation unit must be compiled with, so that the
            precompiled header fits.
        link_flags: what a model is linked with.
    """

    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...]


def compile_flags(verilator: Verilator, wave: str) -> tuple[str, ...]:
    """Flags common to the library, the header and the models."""
    include = verilator.include
    return (
        "-std=c++17",
        "-fPIC",
        "-pthread",
        "-fno-plt",
        "-DVL_TIME_CONTEXT",
        f"-DVM_TRACE={int(bool(wave))}",
        f"-DVM_TRACE_VCD={int(wave == 'vcd')}",
        f"-DVM_TRACE_FST={int(wave == 'fst')}",
        "-DVM_COVERAGE=0",
        "-DVM_SC=0",
        f"-I{include}",
        f"-I{include / 'vltstd'}",
    )


def runtime_key(verilator: Verilator, compiler: Path, wave: str) -> str:
    """A name for the run-time library's content: versions of the tools, and flags."""
    flags = compile_flags(verilator, wave)
    return content_key(verilator.version, compiler_version(compiler), *flags, "3")


def prepare_runtime(verilator: Verilator, compiler: Path, wave: str, timeout: float) -> Runtime:
    """The run-time library for models with this kind of waveform, compiled on first use."""

    def make(build: Path) -> None:
        _check_headers(compiler, wave)
        _compile(verilator, compiler, wave, build, timeout)

    folder = cached(
        ("verilator",),
        f"runtime-{runtime_key(verilator, compiler, wave)}",
        [],
        make,
        bulky=[HEADER, _ARCHIVE, *(f"{HEADER}.gch/{level}" for level in LEVELS)],
    )
    return Runtime(
        compile_flags=(
            *compile_flags(verilator, wave),
            f"-I{folder}",
            "-include",
            str(folder / HEADER),
        ),
        link_flags=(str(folder / _ARCHIVE), *_LIBRARIES[wave]),
    )


def _compile(verilator: Verilator, compiler: Path, wave: str, build: Path, timeout: float) -> None:
    flags = compile_flags(verilator, wave)
    header = build / HEADER
    header.write_text("".join(f'#include "{name}"\n' for name in _HEADERS[wave]))
    sources = [*_SOURCES[""], *(_SOURCES[wave] if wave else ())]
    objects = [build / f"{Path(source).stem}.o" for source in sources]
    # A precompiled header serves one level of optimisation; the compiler picks from the folder.
    precompiled = build / f"{HEADER}.gch"
    precompiled.mkdir()
    commands = [_header_command(compiler, flags, level, header, precompiled) for level in LEVELS]
    for source, target in zip(sources, objects, strict=True):
        path = verilator.include / source
        commands.append([str(compiler), *flags, "-O1", "-c", str(path), "-o", str(target)])
    run_tools(commands, run, timeout=timeout)
    run(["ar", "rcs", str(build / _ARCHIVE), *map(str, objects)], timeout)
    for target in objects:
        target.unlink()


def _header_command(
    compiler: Path, flags: tuple[str, ...], level: str, header: Path, folder: Path
) -> list[str]:
    source = ["-x", "c++-header", str(header)]
    return [str(compiler), *flags, f"-{level}", *source, "-o", str(folder / level)]


def _check_headers(compiler: Path, wave: str) -> None:
    if wave != "fst":
        return
    program = "#include <lz4.h>\n#include <zlib.h>\n"
    try:
        _preprocess(compiler, program)
    except BuildError as error:
        raise BuildError(
            "FST waveforms need the headers of lz4 and zlib, which are not installed.",
            help="run `apt-get install liblz4-dev zlib1g-dev`, or write a .vcd file instead.",
        ) from error


def _preprocess(compiler: Path, program: str) -> None:
    run([str(compiler), "-fsyntax-only", "-x", "c++", "-"], timeout=60, text=program)
