"""What a back end must offer, and where ``Schedule.build`` finds it.

A target registers by name and is imported only when asked for. A user's own
package adds one with the entry point group ``allo.targets``, or with
:func:`register_target`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from allo.dialects.diagnostics import UnsupportedTargetError
from allo.dialects.options import check_step, read_call, read_options
from allo.dialects.text.near import did_you_mean


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """What a back end is given: everything it may know of the user's program.

    Attributes:
        module_text: the core IR as text, source locations included. A back end
            parses it in a context of its own, so a build never changes the schedule.
        top: name of the top function.
        mode: step to run (``"csim"``, ``"csyn"`` …), or None for text or the default.
        project: folder to write, or None.
        configs: target options (device, frequency …).
        wrap_io: HLS: wrap the top function's arrays in load and store functions.
        ext_libs: external C++ modules the kernels call.
        options: further keyword arguments of ``build`` for this target.
        settings: ``configs`` and ``options`` in one, the latter winning. For a target of Allo's own
            they are held against the table of options, and defaults are filled in.

    Raises:
        OptionError: a value that is not accepted, an option the target does not have.
    """

    module_text: str
    top: str
    target: str
    mode: str | None = None
    project: str | None = None
    configs: Mapping[str, Any] | None = None
    wrap_io: bool = True
    ext_libs: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in ("mode", "project", "configs", "wrap_io")}
        for name, value in read_call("build", given).items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "settings", self._settings())

    def _settings(self) -> dict[str, Any]:
        if not is_own(self.target):
            return {**(self.configs or {}), **self.options}
        check_step(self.target, self.mode, self.project)
        return read_options(self.target, self.configs or {}, self.options)


@runtime_checkable
class Executable(Protocol):
    """What ``build`` returns when the result can be called on NumPy arrays."""

    top_func_name: str

    def __call__(self, *args: Any) -> Any: ...


@runtime_checkable
class Report(Protocol):
    """Figures about a built design: JSON first, then a table, then HTML."""

    def to_json(self) -> dict[str, Any]: ...

    def table(self) -> str: ...

    def html(self) -> str: ...


Builder = Callable[[BuildRequest], Any]

_BUILT_IN: dict[str, str] = {
    "llvm": "allo.backend.cpu:build",
    "cpu": "allo.backend.cpu:build",
    "simulator": "allo.backend.cpu:build_simulator",
    "vhls": "allo.backend.hls:build",
    "vivado_hls": "allo.backend.hls:build",
    "vitis_hls": "allo.backend.hls:build",
    "pynq": "allo.backend.hls:build",
    "tapa": "allo.backend.hls:build",
    "catapult": "allo.backend.hls:build",
    "ihls": "allo.backend.hls:build",
    "xls": "allo.backend.xls:build",
    "xlscc": "allo.backend.xls:build",
    "verilog": "allo.backend.sim:build",
    "rtl": "allo.backend.sim:build",
    "systemverilog": "allo.backend.rtl:build_text",
}
_PLATFORMS = ("intel_hls",)
"""Further names that ``HLSModule`` takes."""
_REGISTERED: dict[str, str | Builder] = dict(_BUILT_IN)


def register_target(name: str, builder: str | Builder) -> None:
    """Make ``s.build(target=name)`` call ``builder``, a function or ``"module:function"``."""
    _REGISTERED[name] = builder


def is_own(name: str) -> bool:
    """Whether Allo's own builder serves a name."""
    if name in _PLATFORMS:
        return True
    return name in _BUILT_IN and _REGISTERED[name] == _BUILT_IN[name]


def target_names() -> list[str]:
    """Every name ``build`` accepts, entry points of installed packages included."""
    plugins = importlib.metadata.entry_points(group="allo.targets").names
    return sorted({*_REGISTERED, *plugins})


def find_target(name: str) -> Builder:
    """The builder registered under ``name``, imported now.

    Raises:
        UnsupportedTargetError: when no target has this name.
    """
    name = read_call("build", {"target": name})["target"]
    found: str | Builder | None = _REGISTERED.get(name)
    if found is None:
        found = _from_entry_point(name)
    if found is None:
        raise _unknown(name)
    if isinstance(found, str):
        module, function = found.split(":")
        builder: Builder = getattr(importlib.import_module(module), function)
        return builder
    return found


def _from_entry_point(name: str) -> Builder | None:
    for point in importlib.metadata.entry_points(group="allo.targets", name=name):
        builder: Builder = point.load()
        return builder
    return None


def _unknown(name: str) -> UnsupportedTargetError:
    names = target_names()
    hint = did_you_mean(name, names)
    return UnsupportedTargetError(
        f"Target {name} is not supported.", help=f"{hint}known targets: {', '.join(names)}."
    )
