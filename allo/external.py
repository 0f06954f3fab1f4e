"""External C++ in kernels: ``vadd = allo.IPModule(top="vadd", impl="vadd.cpp")``."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allo.dialects.diagnostics import ArgumentCountError, BuildError, SourceFileError, SourcePlace
from allo.dialects.options import read_call
from allo.dialects.text.quoting import include
from allo.dialects.types import AlloType, Int, UInt, float32, float64

if TYPE_CHECKING:
    from allo.frontend.kernel_module import FunctionInfo

_C_TYPES: dict[str, AlloType] = {
    "bool": UInt(1),
    "char": Int(8),
    "signed char": Int(8),
    "unsigned char": UInt(8),
    "short": Int(16),
    "unsigned short": UInt(16),
    "int": Int(32),
    "unsigned": UInt(32),
    "unsigned int": UInt(32),
    "long": Int(64),
    "long long": Int(64),
    "unsigned long": UInt(64),
    "unsigned long long": UInt(64),
    "float": float32,
    "double": float64,
    **{f"int{b}_t": Int(b) for b in (8, 16, 32, 64)},
    **{f"uint{b}_t": UInt(b) for b in (8, 16, 32, 64)},
}
_PARAMETER = re.compile(
    r"^(?:const\s+)?(?P<type>[\w\s]+?(?:<\s*\d+\s*>)?)\s*(?P<mark>[*&]?)\s*"
    r"(?P<name>\w+)\s*(?P<dims>(?:\[\s*\d+\s*\]\s*)*)$"
)
_ARBITRARY = re.compile(r"ap_(u?)int\s*<\s*(\d+)\s*>$")
_FUNCTION = re.compile(r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*", re.ASCII)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


class IPModule:
    """A C++ function that kernels call, and that runs on NumPy arrays by itself.

    Args:
        top: name of the function; it returns nothing.
        impl: its file; ``~`` is expanded.
        include_paths: folders of headers it needs.
        link_hls: the file uses vendor headers; accepted, the open headers serve.

    Raises:
        OptionError: an argument of the wrong kind.
        SourceFileError: when the file does not exist.
        BuildError: when the function's signature cannot be read from the text, or ``top`` or the
            file's name cannot be said in C++.
    """

    def __init__(
        self,
        top: str,
        impl: str,
        include_paths: Sequence[str] | None = None,
        link_hls: bool = True,
    ) -> None:
        given = {"top": top, "impl": impl, "include_paths": include_paths, "link_hls": link_hls}
        chosen = read_call("IPModule", given)
        self.top: str = chosen["top"]
        self.impl = os.path.abspath(chosen["impl"])
        self.include_paths = [os.path.abspath(p) for p in chosen["include_paths"] or ()]
        self.link_hls: bool = chosen["link_hls"]
        if not _FUNCTION.fullmatch(self.top):
            raise BuildError(
                f"{self.top!r} is no name of a C++ function.",
                help="pass the function's name as top=.",
            )
        if not os.path.isfile(self.impl):
            raise SourceFileError(
                f"Path does not exist: {self.impl}. Consider using an absolute path."
            )
        include(self.impl)
        self.args, self.place = self._read_signature(_text_of(Path(self.impl)))

    def _read_signature(
        self, text: str
    ) -> tuple[list[tuple[str, AlloType, tuple[int | None, ...]]], SourcePlace]:
        plain = _COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
        found = re.search(rf"\bvoid\s+{re.escape(self.top)}\s*\(([^)]*)\)", plain)
        if found is None:
            raise BuildError(
                f"{self.impl} has no function `void {self.top}(...)`.",
                help="an external function returns nothing and writes its results to arrays.",
            )
        line = plain.count("\n", 0, found.start()) + 1
        column = found.start() - plain.rfind("\n", 0, found.start())
        place = SourcePlace(self.impl, line, column)
        parts = [p.strip() for p in found[1].split(",") if p.strip()]
        return [self._read_parameter(" ".join(p.split()), place) for p in parts], place

    def _read_parameter(
        self, text: str, place: SourcePlace
    ) -> tuple[str, AlloType, tuple[int | None, ...]]:
        match = _PARAMETER.match(text)
        dtype = _c_type(match["type"]) if match else None
        if match is None or dtype is None:
            raise BuildError(
                f"The parameter `{text}` of {self.top} is not understood.",
                place,
                help="parameters are scalars, arrays with literal extents, or pointers to C numbers.",
            )
        extents: tuple[int | None, ...] = tuple(int(d) for d in re.findall(r"\d+", match["dims"]))
        if match["mark"] == "*":
            extents = (None, *extents)
        return match["name"], dtype, extents

    def __allo_external__(self) -> FunctionInfo:
        """What the frontend declares for a call from a kernel."""
        from allo.frontend.kernel_module import FunctionInfo, ValueInfo

        args = [ValueInfo(name, dtype, shape, place=self.place) for name, dtype, shape in self.args]
        return FunctionInfo(self.top, self.top, args=args, place=self.place)

    def __call__(self, *args: Any) -> None:
        """Run on NumPy arrays (changed in place) and numbers.

        Raises:
            BoundaryError: for a wrong number of arguments, shape or type.
        """
        if len(args) != len(self.args):
            raise ArgumentCountError(
                f"{self.top} takes {len(self.args)} arguments, not {len(args)}.", self.place
            )
        from allo.customize import customize

        shapes = [
            tuple(given.shape[: len(shape)]) if shape else ()
            for given, (_, _, shape) in zip(args, self.args, strict=True)
        ]
        types = {f"T{i}": dtype for i, (_, dtype, _) in enumerate(self.args)}
        parameters = ", ".join(
            f"a{i}: T{i}{list(shape) if shape else ''}" for i, shape in enumerate(shapes)
        )
        names = ", ".join(f"a{i}" for i in range(len(shapes)))
        text = f"def call_{self.top}({parameters}):\n    external({names})\n"
        customize(text, global_vars={**types, "external": self}).build()(*args)


def _text_of(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BuildError(
            f"{path} cannot be read: {error}.", help="a file of C++ is text in UTF-8."
        ) from error


def _c_type(name: str) -> AlloType | None:
    name = name.strip()
    arbitrary = _ARBITRARY.match(name)
    if arbitrary:
        return (UInt if arbitrary[1] else Int)(int(arbitrary[2]))
    return _C_TYPES.get(name)
