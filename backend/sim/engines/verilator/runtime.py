"""Verilator's run-time library and header, compiled once a machine and kept in the cache.

The header is compiled only once that pays: precompiling takes 2.5 s, which saves each model 0.6 s.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from allo.dialects.caches.files import cached, content_key
from allo.dialects.caches.tally import is_worth_it, note_use
from allo.dialects.diagnostics import BuildError
from allo.dialects.processes.tools import Programs

from .tools import Verilator, compiler_version, run

LEVEL = "-O1"
"""Of every unit, as a precompiled header serves one level only."""
UNOPTIMISED = """\
#if defined(__clang__)
#pragma clang optimize off
#else
#pragma GCC optimize ("O0")
#endif
"""
"""Begins text that runs seldom: it is compiled as by -O0."""
_KIND = ("verilator",)
_HEADER = "allo_verilated.h"
_ARCHIVE = "libverilated.a"
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
    """The run-time library for models with one kind of waveform.

    Attributes:
        timeout: seconds that one of the compiler's runs may take.
    """

    verilator: Verilator
    compiler: Path
    wave: str
    timeout: float

    def key(self) -> str:
        """A name for its content: versions of the tools, and flags."""
        version = compiler_version(self.compiler)
        return content_key(self.verilator.version, version, *self._flags(), LEVEL, "5")

    def unit_command(self, source: Path, target: Path, *flags: str) -> list[str]:
        """Compiles a unit of a model; the header is precompiled first once that pays.

        Raises:
            ToolFailedError: the header was refused.
        """
        headers = [*_HEADERS[self.wave]]
        if is_worth_it(_KIND, self._header_key()):
            headers = [str(self._precompiled())]
        included = [word for header in headers for word in ("-include", header)]
        return [*self._command(), *included, *flags, "-w", "-c", str(source), "-o", str(target)]

    def note_model(self) -> None:
        """Count a model that was compiled."""
        note_use(_KIND, self._header_key())

    def link_flags(self, programs: Programs) -> tuple[str, ...]:
        """What a model is linked with; the library is compiled on first use, by ``programs``.

        Raises:
            ToolFailedError: it could not be compiled.
            BuildError: headers that the waveforms need are not installed.
        """

        def make(build: Path) -> None:
            _check_headers(self.compiler, self.wave)
            names = [*_SOURCES[""], *(_SOURCES[self.wave] if self.wave else ())]
            units = [(self.verilator.include / n, build / f"{Path(n).stem}.o") for n in names]
            runs = [
                programs.start([*self._command(), "-c", str(s), "-o", str(o)]) for s, o in units
            ]
            for each in runs:
                each.result()
            objects = [str(target) for _, target in units]
            run(["ar", "rcs", str(build / _ARCHIVE), *objects], self.timeout)
            for _, target in units:
                target.unlink()

        folder = cached(_KIND, f"runtime-{self.key()}", [], make, bulky=[_ARCHIVE])
        return (str(folder / _ARCHIVE), *_LIBRARIES[self.wave])

    def _precompiled(self) -> Path:
        def make(build: Path) -> None:
            header = build / _HEADER
            header.write_text("".join(f'#include "{name}"\n' for name in _HEADERS[self.wave]))
            source = ["-x", "c++-header", str(header), "-o", f"{header}.gch"]
            run([*self._command(), *source], self.timeout)

        files = [_HEADER, f"{_HEADER}.gch"]
        return cached(_KIND, self._header_key(), [], make, bulky=files) / _HEADER

    def _header_key(self) -> str:
        return f"header-{self.key()}"

    def _command(self) -> list[str]:
        include = self.verilator.include
        return [
            str(self.compiler),
            *self._flags(),
            f"-I{include}",
            f"-I{include / 'vltstd'}",
            LEVEL,
        ]

    def _flags(self) -> tuple[str, ...]:
        """Flags common to the library, the header and the models, but for where the headers are."""
        wave = self.wave
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
        )


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
