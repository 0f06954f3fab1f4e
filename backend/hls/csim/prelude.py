"""The C++ headers csim compiles kernels with, one set a family of vendors; precompiled once that pays.

A kernel takes 0.2 s with a precompiled header and 1 s without, but precompiling takes 3 s. So the first few
kernels on a machine, and those of a cache that is thrown away, are compiled without.
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from allo.dialects.caches.files import cached, content_key
from allo.dialects.caches.tally import is_worth_it, note_use
from allo.dialects.processes.tools import run_tool

from .headers import AC_SHIMS, RUNTIME, SHIMS, XLS_SHIMS, compiler, open_ac_headers, open_headers

_HEADER = "prelude.h"
_OBJECT = "runtime.o"
_KIND = ("hls", "prelude")
COMPILE_LIMIT_S = 600.0
FLAGS = (
    "-std=c++14",
    "-O1",
    "-fPIC",
    "-w",
    "-ffp-contract=off",
    "-fwrapv",
    "-pthread",
    "-DALLO_EXACT_MATH",
)


@dataclass(frozen=True, slots=True)
class Prelude:
    """What stands before every kernel of a family.

    Attributes:
        text: the includes.
        folders: where headers are searched, in order.
    """

    text: str
    folders: Callable[[], tuple[Path, ...]]

    def include_flags(self) -> list[str]:
        """The compiler's ``-I`` options for the folders; ToolMissingError if headers are missing."""
        return [f"-I{folder}" for folder in self.folders()]

    def precompiled(self) -> Path:
        """A folder whose ``prelude.h`` is precompiled: most of a kernel's compile time, once.

        Raises:
            ToolMissingError: no compiler or no headers.
        """
        files = [_HEADER, f"{_HEADER}.gch"]
        return cached(_KIND, self.key(), [], self._precompile, bulky=files)

    def _precompile(self, folder: Path) -> None:
        header = folder / _HEADER
        header.write_text(self.text)
        command = [compiler(), *_flags(), *self.include_flags(), "-x", "c++-header", str(header)]
        run_tool(
            [*command, "-o", f"{header}.gch"],
            folder,
            what="Compiling the csim headers",
            timeout_s=COMPILE_LIMIT_S,
        )

    def compile(self, arguments: list[str], output: Path, what: str) -> None:
        """Compile ``output``, in a folder of its own, with this prelude in front of the text.

        Raises:
            ToolMissingError: no compiler or no headers.
            ToolFailedError: the compiler refused the code; its last lines are in the notes.
        """
        folder, key = output.parent, self.key()
        if is_worth_it(_KIND, key):
            prelude = ["-Winvalid-pch", "-include", str(self.precompiled() / _HEADER)]
        else:
            (folder / _HEADER).write_text(self.text)
            prelude = ["-include", str(folder / _HEADER)]
        command = [compiler(), *_flags(), *prelude, *self.include_flags(), *arguments]
        run_tool([*command, "-o", str(output)], folder, what=what, timeout_s=COMPILE_LIMIT_S)
        if output.exists():
            note_use(_KIND, key)

    def key(self) -> str:
        """A name for the headers, their flags and the compiler."""
        runtime = [RUNTIME / "fiber.hpp", RUNTIME / "simulator.hpp"]
        headers = sorted(h for folder in self.folders() for h in _headers(folder))
        return content_key(
            _compiler_identity(compiler()), " ".join(_flags()), self.text, *runtime, *headers
        )


def runtime_object() -> Path:
    """What every kernel is linked with, compiled once: the calls from Python, fibers and FIFOs.

    Raises:
        ToolMissingError: no compiler.
        ToolFailedError: the compiler refused the code.
    """
    sources = [RUNTIME / "fiber.cpp", RUNTIME / "simulator.cpp", SHIMS / "allo_csim.cpp"]
    headers = [RUNTIME / "fiber.hpp", RUNTIME / "simulator.hpp"]
    headers += [SHIMS / "allo_csim.h", SHIMS / "allo_dataflow.h"]

    def make(folder: Path) -> None:
        source = folder / "runtime.cpp"
        source.write_text("".join(f'#include "{file.name}"\n' for file in sources))
        command = [compiler(), *_flags(), f"-I{RUNTIME}", f"-I{SHIMS}", "-c", str(source)]
        what = "Compiling the runtime of csim"
        command += ["-o", str(folder / _OBJECT)]
        run_tool(command, folder, what=what, timeout_s=COMPILE_LIMIT_S)

    key = content_key(_compiler_identity(compiler()), " ".join(_flags()), *sources, *headers)
    return cached(("hls", "runtime"), key, [_OBJECT], make) / _OBJECT


def _flags() -> list[str]:
    """GCC is told to make libraries that can be unloaded."""
    unloadable = [] if "clang" in _compiler_identity(compiler()) else ["-fno-gnu-unique"]
    return [*FLAGS, *unloadable]


def _headers(folder: Path) -> list[Path]:
    if folder == RUNTIME:
        return []
    return list(folder.glob("*.h") if folder == SHIMS else folder.rglob("*.h"))


@functools.cache
def _compiler_identity(path: str) -> str:
    version = run_tool([path, "--version"], None, what="Asking for the version", timeout_s=60)
    return f"{version} {platform.machine()}"


XILINX = Prelude(
    """#include <algorithm>
#include <ap_axi_sdata.h>
#include <ap_fixed.h>
#include <ap_int.h>
#include <hls_math.h>
#include <hls_stream.h>
#include <hls_vector.h>
#include <math.h>
#include <stdint.h>
#include "allo_csim.h"
""",
    lambda: (SHIMS, RUNTIME, open_headers()),
)
CATAPULT = Prelude(
    """#include <algorithm>
#include <ac_channel.h>
#include <ac_fixed.h>
#include <ac_int.h>
#include <hls_math.h>
#include <math.h>
#include <stdint.h>
#include "allo_csim.h"
""",
    lambda: (AC_SHIMS, SHIMS, RUNTIME, open_ac_headers()),
)
XLS = Prelude(
    """#include <Channel.h>
#include <Memory.h>
#include <XlsInt.h>
#include <stdint.h>
#include "allo_csim.h"
""",
    lambda: (XLS_SHIMS, SHIMS, RUNTIME, open_ac_headers()),
)
PRELUDES = {"xilinx": XILINX, "catapult": CATAPULT, "xls": XLS}
