"""What each operator of a module became."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..lowering import Choice
from .state import ModelState


@dataclass(frozen=True, slots=True)
class Explained:
    """A line of an explanation.

    Attributes:
        path: of the module.
        operator: the ATen operator; ``""`` for a step of the schedule.
        became: what was made of it.
        place: the model's line; ``""`` where none is known.
    """

    path: str
    operator: str
    became: str
    place: str


class Explanation:
    """Lines of an explanation; as a text they are a table."""

    def __init__(self, rows: Sequence[Explained]) -> None:
        self.rows = list(rows)

    def __str__(self) -> str:
        lines = [(row.path or "(model)", row.operator, row.became, row.place) for row in self.rows]
        widths = [max((len(line[k]) for line in lines), default=0) for k in range(3)]
        shown = (
            "  ".join([*(cell.ljust(w) for cell, w in zip(line, widths, strict=False)), line[3]])
            for line in lines
        )
        return "\n".join(line.rstrip() for line in shown)

    __repr__ = __str__


def explained(s: ModelState, paths: Iterable[str]) -> Explanation:
    """What the operators in some modules, and in those inside them, became."""
    wanted = list(paths)
    rows = [
        Explained(choice.path, choice.target, _became(s, choice), _place(choice))
        for choice in s.choices
        if _within_any(choice.path, wanted)
    ]
    for path, texts in s.changes.items():
        if _within_any(path, wanted):
            rows += [Explained(path, "", text, "") for text in texts]
    return Explanation(rows)


def _within_any(path: str, outer: Iterable[str]) -> bool:
    return any(not each or path == each or path.startswith(f"{each}.") for each in outer)


def _became(s: ModelState, choice: Choice) -> str:
    function = choice.function
    if function not in s.module_paths:  # its module has the function of another one
        function = s.functions[choice.path][0]
    inside = (p for p in s.replaced if _within_any(choice.path, [p]) or function in s.functions[p])
    replaced = next(inside, None)
    if replaced is not None:
        return f"kernel {s.replaced[replaced]} in {s.functions[replaced][0]}"
    if not choice.nests:
        return f"no operation: another subscript, or the value as it is, in {function}"
    nests = "nests" if len(choice.nests) > 1 else "nest"
    reason = s.reasons.get(choice.operator)
    why = f"; no kernel of the library: {reason}" if reason else ""
    return f"plain {nests} {', '.join(choice.nests)} of {function}{why}"


def _place(choice: Choice) -> str:
    return "" if choice.place is None else f"{choice.place.file}:{choice.place.line}"
