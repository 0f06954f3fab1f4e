"""What a back end must offer, and where ``Schedule.build`` finds it.

A target registers by name and is imported only when asked for. A user's own
package adds one with the entry point group ``allo.targets``, or with
:func:`register_target`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from allo.dialects.diagnostics import TargetError, UnsupportedTargetError
from allo.dialects.options import check_step, read_call, read_options
from allo.dialects.text.near import did_you_mean
from allo.dialects.text.shown import shown


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

    def to_json(self) -> dict[str, Any]:
        """The figures as a dictionary that ``json`` can write."""

    def table(self) -> str:
        """The figures as text, one line for each loop, memory and operator."""

    def html(self) -> str:
        """The figures as one HTML page."""


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
_ESTIMATOR = "allo.backend.rtl.estimate:estimate"
_NAME = re.compile(r"\w+")
_SPELLED = re.compile(r"[\w.]+:\w+")
_PLATFORMS = ("intel_hls",)
"""Further names that ``HLSModule`` takes."""
_REGISTERED: dict[str, str | Builder] = dict(_BUILT_IN)


def register_target(name: str, builder: str | Builder, *, replace: bool = False) -> None:
    """Make ``s.build(target=name)`` call ``builder``, a function or ``"module:function"``.

    Args:
        replace: whether the name may be taken; without it only the same builder may come again.

    Raises:
        TargetError: the name is taken or is none, or the builder does not take one request.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _refusal(name, "its name is text of letters, digits and underscores.")
    taken = _REGISTERED.get(name)
    if taken is not None and taken != builder and not replace:
        raise _refusal(
            name,
            "there is a target of this name already.",
            help="give it another name, or replace the other with replace=True.",
        )
    _check_builder(name, builder)
    _REGISTERED[name] = builder


def _check_builder(name: str, builder: object) -> None:
    """Refuse what cannot be called with a request; text is imported only when it is asked for."""
    if isinstance(builder, str):
        if not _SPELLED.fullmatch(builder):
            raise _refusal(name, f'a builder given as text is "module:function", not {builder!r}.')
        return
    if not callable(builder):
        raise _refusal(name, f"its builder is a function of a BuildRequest, not {shown(builder)}.")
    try:
        inspect.signature(builder).bind(None)
    except ValueError:  # a function of C, which does not say
        return
    except TypeError:
        raise _refusal(
            name,
            f"its builder takes a BuildRequest and nothing else, not {inspect.signature(builder)}.",
        ) from None


def _refusal(
    name: object, rule: str, help: str = "see docs/internals/extending.md."
) -> TargetError:
    return TargetError(f"The target {shown(name)} cannot be registered: {rule}", help=help)


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
        TargetError: when that of an installed package breaks a rule.
    """
    name = read_call("build", {"target": name})["target"]
    found: str | Builder | None = _REGISTERED.get(name)
    if found is None:
        found = _from_entry_point(name)
    if found is None:
        raise _unknown(name)
    builder = _imported(name, found) if isinstance(found, str) else found
    return builder if is_own(name) else _answering(name, builder)


def find_estimator() -> Callable[..., Any]:
    """What answers a request for the target ``systemverilog`` with a report alone, imported now."""
    return _imported("systemverilog", _ESTIMATOR)


def _imported(name: str, spelled: str) -> Builder:
    module, function = spelled.split(":")
    builder: Builder = getattr(importlib.import_module(module), function)
    _check_builder(name, builder)
    return builder


def _answering(name: str, builder: Builder) -> Builder:
    """A builder of a user's own, whose answer is held against what ``build`` promises."""

    def build(request: BuildRequest) -> Any:
        built = builder(request)
        if not isinstance(built, str) and not callable(built):
            raise TargetError(
                f"The target {name} returned {shown(built)}, but a target returns text or an object "
                "that can be called.",
                help="see docs/internals/extending.md.",
            )
        return built

    return build


def _from_entry_point(name: str) -> Builder | None:
    points = [*importlib.metadata.entry_points(group="allo.targets", name=name)]
    if len({point.value for point in points}) > 1:
        values = " and ".join(point.value for point in points)
        raise _refusal(name, f"{values} are entry points of this name.", help="uninstall one.")
    for point in points:
        builder: Builder = point.load()
        _check_builder(name, builder)
        return builder
    return None


_NPU = ("aie", "npu")


def _unknown(name: str) -> UnsupportedTargetError:
    names = target_names()
    hint = did_you_mean(name, names)
    if name in _NPU:
        hint = (
            "there is no compiler for AMD's NPU here; target='simulator' runs the same region, "
            "the layouts of its parameters included; "
        )
    return UnsupportedTargetError(
        f"Target {name} is not supported.", help=f"{hint}known targets: {', '.join(names)}."
    )
