"""What a program is: source text, how it is called, and the steps of its schedule."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

Fields = tuple[tuple[str, str, Any], ...]


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of the top function.

    Attributes:
        kind: the element type as text (``"Int(7)"``, ``"float32"``) or ``"struct"``.
        shape: extents; None for a scalar.
        bits, frac: of integers and fixed point.
        fields: of each field of a Struct its name, its type and its bits; or ``"struct"`` and its fields;
            or ``"array"`` and the type, the bits and the shape.
        values: how input values are drawn: ``"any"``, or ``"small"`` (magnitudes below 8).
    """

    name: str
    kind: str
    bits: int
    frac: int = 0
    shape: tuple[int, ...] | None = None
    fields: Fields = ()
    values: str = "any"


@dataclass(frozen=True, slots=True)
class Step:
    """One primitive of a schedule; arguments are JSON values or ``{"buffer": [func, name]}``."""

    primitive: str
    args: tuple[Any, ...] = ()
    kwargs: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        shown = [_shown(a) for a in self.args] + [f"{k}={_shown(v)}" for k, v in self.kwargs]
        return f"s.{self.primitive}({', '.join(shown)})"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        (kind, about), *_ = value.items()
        return f"{kind}({', '.join(map(str, about))})" if isinstance(about, list) else str(about)
    return repr(value)


@dataclass(slots=True)
class Program:
    """A random program.

    Attributes:
        seed: what it was made from, and what its inputs are drawn from.
        source: a Python module that defines ``top``.
        top: name of the kernel or region.
        arguments: what it takes.
        instantiate: template arguments as text, evaluated in the module.
        region: whether ``top`` is a dataflow region.
        runs: how many times it is called.
        steps: the schedule; None for steps drawn when it is scheduled.
        features: what it holds, for statistics and ``--only``.
        exact: whether results may be compared bit for bit with the oracle.
        deadlock: whether the network must get stuck.
        checked: whether it is built with ``check_bounds=True``, and so may leave an array.
        reassociated: whether it is built with ``reassociate=True``, so that sums of floats round otherwise.
        restarted: whether its hardware starts anew behind its calls, and does the first of them again.
        copied: whether a copy of its schedule is taken on the way, and built too.
        edited: how its file is changed behind its import, see ``runner/forms.py``; empty where it is not.
        options: further options of its builds, see :mod:`.options`.
        searched: what ``allo.autoschedule`` is asked for, see :mod:`.searched`; empty where it is not called.
    """

    seed: int
    source: str
    top: str
    arguments: list[Argument]
    instantiate: list[str] = field(default_factory=list)
    region: bool = False
    runs: int = 3
    steps: list[Step] | None = None
    features: list[str] = field(default_factory=list)
    exact: bool = True
    deadlock: bool = False
    checked: bool = False
    reassociated: bool = False
    restarted: bool = False
    copied: bool = False
    edited: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    searched: dict[str, Any] = field(default_factory=dict)

    @property
    def has_floats(self) -> bool:
        """Whether its text names a floating-point type."""
        return "float" in self.source

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @staticmethod
    def from_json(text: str) -> Program:
        data = json.loads(text)
        data["arguments"] = [_argument(about) for about in data["arguments"]]
        if data["steps"] is not None:
            data["steps"] = [step_from(about) for about in data["steps"]]
        return Program(**data)


def _argument(about: dict[str, Any]) -> Argument:
    shape = None if about["shape"] is None else tuple(about["shape"])
    return Argument(**{**about, "shape": shape, "fields": _fields(about["fields"])})


def _fields(listed: list[Any]) -> Fields:
    def about(kind: str, given: Any) -> Any:
        if kind == "array":
            return (*given[:2], tuple(given[2]))
        return _fields(given) if kind == "struct" else given

    return tuple((name, kind, about(kind, given)) for name, kind, given in listed)


def step_from(about: dict[str, Any]) -> Step:
    """A step from its JSON form."""
    kwargs = tuple((name, value) for name, value in about["kwargs"])
    return Step(about["primitive"], tuple(about["args"]), kwargs)
