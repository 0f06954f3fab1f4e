"""Patterns of module paths: ``blocks.*.attn.qkv``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from allo.dialects.diagnostics import SourcePlace, UnknownHandleError
from allo.schedule.near import suggestion

_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Match:
    """A path that a pattern names, and the components that its wildcards stand for."""

    path: str
    wild: tuple[str, ...]


def matches(pattern: str, paths: Iterable[str]) -> list[Match]:
    """The paths that a pattern names, in order.

    ``*``, ``?`` and ``[…]`` stand for characters of one component, ``**`` for any number of components.
    """
    parts = _parts(pattern)
    found = ((path, _wild(parts, _parts(path))) for path in paths)
    return [Match(path, wild) for path, wild in found if wild is not None]


def filled(pattern: str, wild: Sequence[str]) -> str:
    """A pattern with its wildcards replaced in order by what those of another one stood for."""
    rest = list(wild)
    parts = [rest.pop(0) if _WILD.search(part) and rest else part for part in _parts(pattern)]
    return ".".join(part for part in parts if part)


def unmatched(
    pattern: str, paths: Collection[str], empty: Collection[str], place: SourcePlace | None
) -> UnknownHandleError:
    """The error for a pattern that names no module with a function.

    Args:
        pattern: the pattern.
        paths: of the modules with functions.
        empty: those of modules in which nothing is computed.
        place: the user's line.
    """
    idle = matches(pattern, empty)
    if idle:
        return UnknownHandleError(
            f"Module {idle[0].path!r} computes nothing, and has no function.",
            place,
            help=suggestion(pattern, [p for p in paths if p], "modules with functions are"),
        )
    near = [_like(pattern, path) for path in paths if path]
    return UnknownHandleError(
        f"No module of the model matches {pattern!r}.",
        place,
        help=suggestion(pattern, [p for p in paths if p], "its modules are", near),
    )


def _parts(path: str) -> list[str]:
    return path.split(".") if path else []


def _wild(pattern: Sequence[str], names: Sequence[str]) -> tuple[str, ...] | None:
    """What the wildcards stand for; None where the pattern does not match."""
    if not pattern:
        return None if names else ()
    first, rest = pattern[0], pattern[1:]
    if first == "**":
        for count in range(len(names) + 1):
            behind = _wild(rest, names[count:])
            if behind is not None:
                return (".".join(names[:count]), *behind)
        return None
    if not names or not fnmatchcase(names[0], first):
        return None
    behind = _wild(rest, names[1:])
    if behind is None:
        return None
    return (names[0], *behind) if _WILD.search(first) else behind


def _like(pattern: str, path: str) -> str:
    """The path with the wildcards of the pattern in it, where the two have as many components."""
    parts, names = _parts(pattern), _parts(path)
    if len(parts) != len(names):
        return path
    pairs = zip(parts, names, strict=True)
    return ".".join(p if _WILD.search(p) and fnmatchcase(n, p) else n for p, n in pairs)
