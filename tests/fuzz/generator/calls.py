"""Calls of helper functions: as statements, in expressions, with whole arrays, rows and parts."""

from __future__ import annotations

from collections.abc import Callable

from .subscripts import affine_subscript, subscript
from .types import Ty, other_signedness
from .writer import Array, Helper, Scalar, Writer

MOST_WORK = 40
"""Calls inside expressions stand in loops of at most so many iterations."""


def call_text(w: Writer, helper: Helper, scalar: Callable[[], str]) -> str | None:
    """A call of a helper; None where no array in scope fits a parameter.

    Args:
        scalar: gives an expression for a scalar parameter.
    """
    given: list[str] = []
    passed: dict[object, list[str]] = {}
    for param in helper.params:
        if isinstance(param, Scalar):
            given.append(scalar())
            continue
        fitting = passed.get((param.ty, param.shape), []) if w.composes and w.chance(0.5) else []
        if fitting:
            w.use("arrays passed twice")
        fitting = fitting or _fitting(w, param)
        if not fitting:
            return None
        given.append(w.pick(fitting))
        passed.setdefault((param.ty, param.shape), []).append(given[-1])
    w.use("calls")
    if not w.composes or not w.chance(0.3):
        return f"{helper.name}({', '.join(given)})"
    w.use("keyword arguments")
    named = [f"{p.name}={text}" for p, text in zip(helper.params, given, strict=True)]
    first = w.rng.randint(0, len(given))
    behind = named[first:]
    w.rng.shuffle(behind)
    return f"{helper.name}({', '.join([*given[:first], *behind])})"


def _fitting(w: Writer, param: Array) -> list[str]:
    whole = [
        a.name
        for a in w.scope.arrays
        if _passes(w, a.ty, param.ty)
        and a.shape == param.shape
        and (a.writable or not param.writable)
    ]
    rows = [
        f"{a.name}[{affine_subscript(w, a.shape[0])}]"
        for a in w.scope.arrays
        if _passes(w, a.ty, param.ty) and a.shape[1:] == param.shape and a.writable
    ]
    fitting = whole + (rows if w.chance(0.6) else [])
    if w.composes and w.chance(0.5):
        fitting += [text for a in w.scope.arrays for text in _parts(w, a, param)]
    return fitting


def _parts(w: Writer, array: Array, param: Array) -> list[str]:
    """``A[1:4]``, ``A[i, 0:3]``, ``A[0:2, 1:4]``: a part of the extents of a parameter."""
    rank = len(param.shape)
    behind = array.shape[len(array.shape) - rank :]
    if array.ty != param.ty or not array.writable or len(array.shape) not in (rank, rank + 1):
        return []
    if any(n < wanted for n, wanted in zip(behind, param.shape, strict=True)):
        return []
    parts = []
    if len(array.shape) > rank:
        parts.append(affine_subscript(w, array.shape[0]))
    for n, wanted in zip(behind, param.shape, strict=True):
        start = w.rng.randint(0, n - wanted)
        parts.append(f"{start}:{start + wanted}")
    w.use("parts as arguments")
    return [f"{array.name}[{', '.join(parts)}]"]


def _passes(w: Writer, given: Ty, wanted: Ty) -> bool:
    """Whether an array may be passed for a parameter: integers of one width may differ in signedness."""
    if given == wanted or not w.converts or given != other_signedness(wanted):
        return given == wanted
    w.use("other signedness")
    return True


def element_of_call(w: Writer, helper: Helper, text: str) -> str:
    """``f(A)[i]``: an element of the array that a call returns."""
    assert helper.shape is not None
    return f"{text}[{', '.join(subscript(w, extent) for extent in helper.shape)}]"
