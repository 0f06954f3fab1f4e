"""The Python of a schedule: its primitives as calls, those of one kind that follow each other as a table."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import allo.ir.types as types
from allo.schedule import Schedule
from allo.schedule.handles import LoopWrapper, MockBuffer

WIDTH = 110
"""Columns of a line."""
type Call = tuple[str, list[Any], dict[str, Any]]


def script_of(schedule: Schedule, comment: str) -> str:
    """A module with a function ``schedule()`` that makes the schedule again.

    Of a model, or a kernel without a module, it is ``schedule(s)``, and applies the primitives to what it is
    given.

    Args:
        comment: the first line of its text.
    """
    writer = _Writer(schedule)
    body = list(writer.body())
    lines = [f'"""{comment}"""', "", "import allo", *writer.imports(), "", ""]
    given = "" if writer.importable else "s"
    lines += [f"def schedule({given}):", *(f"    {line}" if line else "" for line in body)]
    return "\n".join(lines) + "\n"


class _Writer:
    """Writes the calls of one schedule."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._partition = False
        self._types: set[str] = set()
        calls = schedule.primitive_sequences
        self._ambiguous = _ambiguous(schedule, calls)
        self._own = all(func == schedule.top_func_name for func, _ in self._ambiguous)

    def imports(self) -> Iterator[str]:
        """Imports of what the body names; to be called after it."""
        if self._partition:
            yield "from allo import Partition"
        if self._types:
            yield f"from allo.ir.types import {', '.join(sorted(self._types))}"
        source = getattr(self._schedule.kernel, "source", None)
        module = getattr(source, "__module__", None)
        if self.importable and module and module != "__main__":
            yield f"from {module} import {self._kernel}"

    @property
    def importable(self) -> bool:
        """Whether the kernel has a name in some module, as a model that was lowered has not."""
        module = getattr(getattr(self._schedule.kernel, "source", None), "__module__", None)
        return module is None or all(part.isidentifier() for part in str(module).split("."))

    @property
    def _kernel(self) -> str:
        source = getattr(self._schedule.kernel, "source", None)
        name: str = getattr(source, "__name__", self._schedule.top_func_name)
        return name

    def body(self) -> Iterator[str]:
        """The statements of the function."""
        if self.importable:
            given = [self._value(value) for value in self._schedule.inst_list]
            instantiate = f", instantiate=[{', '.join(given)}]" if given else ""
            yield f"s = allo.customize({self._kernel}{instantiate})"
        if self._ambiguous:
            yield "def loop(nest, name):" if self._own else "def loop(func, nest, name):"
            yield f"    return s.get_loops({'' if self._own else 'func'})[nest][name]"
        calls = self._schedule.primitive_sequences
        for _, group in itertools.groupby(calls, key=lambda call: (call[0], tuple(call[2]))):
            yield from self._group(list(group))
        yield "return s"

    def _group(self, calls: Sequence[Call]) -> Iterator[str]:
        """Calls of one primitive: each in a line of its own, or as a loop over a table."""
        name, arguments, options = calls[0]
        if len(calls) < 3 and not (calls[0][0] == "reorder" and len(calls) == 2):
            for call in calls:
                yield from self._one(call)
            return
        rows = [self._row(args, kwargs) for _, args, kwargs in calls]
        if name == "reorder" and all(_of_one_nest(args) for _, args, _ in calls):
            yield from self._reorders(calls)
            return
        if any(len(row) != len(rows[0]) for row in rows):
            for call in calls:
                yield from self._one(call)
            return
        names = _names(name, len(arguments), list(options))
        same = [len({row[n] for row in rows}) == 1 for n in range(len(names))]
        same = [False] * len(names) if all(same) else same
        moving = [n for n in range(len(names)) if not same[n]]
        looped = all(row[0].startswith("loop(") for row in rows) and not same[0]
        if looped:
            rows = [[row[0][len("loop(") : -1], *row[1:]] for row in rows]
        entries = [", ".join(row[n] for n in moving) for row in rows]
        entries = [f"({entry})" if looped or len(moving) > 1 else entry for entry in entries]
        shown = ["nest, name" if self._own else "func, nest, name", *names[1:]] if looped else names
        yield from self._table(", ".join(shown[n] for n in moving), entries)
        values = [rows[0][n] if same[n] else names[n] for n in range(len(names))]
        if looped:
            values[0] = f"loop({shown[0]})"
        passed = values[: len(arguments)]
        passed += [f"{k}={v}" for k, v in zip(options, values[len(arguments) :], strict=True)]
        yield f"    s.{name}({', '.join(passed)})"

    def _reorders(self, calls: Sequence[Call]) -> Iterator[str]:
        """Orders of loops, a nest in a line."""
        plain = not self._ambiguous
        entries = []
        for _, loops, _ in calls:
            nest = f'"{loops[0].func}"' if plain else f'"{loops[0].band}"'
            if self._ambiguous and not self._own:
                nest = f'"{loops[0].func}", {nest}'
            entries.append(f'({nest}, "{" ".join(loop.loop_name for loop in loops)}")')
        keys = "func" if plain else "nest" if self._own else "func, nest"
        yield from self._table(f"{keys}, names", entries)
        one = 'f"{func}:{name}"' if plain else f"loop({keys}, name)"
        yield f"    s.reorder(*({one} for name in names.split()))"

    def _one(self, call: Call) -> Iterator[str]:
        name, arguments, options = call
        passed = [self._value(a) for a in arguments]
        passed += [f"{k}={self._value(v)}" for k, v in options.items()]
        text = f"s.{name}({', '.join(passed)})"
        if len(text) <= WIDTH - 4:
            yield text
            return
        yield f"s.{name}("
        yield from (f"    {line}" for line in _packed(passed))
        yield ")"

    def _row(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> list[str]:
        return [self._value(value) for value in (*arguments, *options.values())]

    def _table(self, names: str, entries: list[str]) -> Iterator[str]:
        text = f"for {names} in ({', '.join(entries)}):"
        if len(text) <= WIDTH - 4:
            yield text
            return
        yield f"for {names} in ("
        yield from (f"    {line}" for line in _packed(entries))
        yield "):"

    def _value(self, value: Any) -> str:
        if isinstance(value, LoopWrapper):
            if (value.func, value.loop_name.split(".")[0]) in self._ambiguous:
                func = "" if self._own else f'"{value.func}", '
                return f'loop({func}"{value.band}", "{value.loop_name}")'
            return f'"{value.func}:{value.loop_name}"'
        if isinstance(value, MockBuffer):
            top = value.func == self._schedule.top_func_name
            return f"s.{value.name}" if top else f'"{value.func}:{value.name}"'
        if isinstance(value, str):
            func, colon, name = value.partition(":")
            if colon and func == self._schedule.top_func_name and name.isidentifier():
                return f"s.{name}" if hasattr(self._schedule, name) else f'"{value}"'
            return f'"{value}"'
        if isinstance(value, enum.Enum):
            self._partition = True
            return f"Partition.{value.name}"
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(self._value(v) for v in value)}]"
        for name, known in vars(types).items():
            if not name.startswith("_") and name.islower() and known is value:
                self._types.add(name)
                return name
        return repr(value)


def _of_one_nest(arguments: Sequence[Any]) -> bool:
    """Whether the arguments are loops of one nest."""
    if not all(isinstance(a, LoopWrapper) for a in arguments):
        return False
    return len({(a.func, a.band) for a in arguments}) == 1


def _names(primitive: str, arguments: int, options: list[str]) -> list[str]:
    known = {
        "split": ["axis", "factor"],
        "pipeline": ["axis", "interval"],
        "rebalance": ["axis"],
        "unroll": ["axis", "factor"],
        "partition": ["array", "kind", "dim", "factor"],
        "interleave": ["axis", "factor"],
    }
    first = known.get(primitive, [])[:arguments]
    first += [f"value{n}" for n in range(len(first), arguments)]
    return [*first, *(f"{name}_" if name in first else name for name in options)]


def _packed(entries: Sequence[str]) -> Iterator[str]:
    """Entries of a table, as many in a line as it holds."""
    line = ""
    for entry in entries:
        if line and len(line) + len(entry) + 2 > WIDTH - 8:
            yield line
            line = ""
        line = f"{line} {entry}," if line else f"{entry},"
    if line:
        yield line


def _ambiguous(schedule: Schedule, calls: Sequence[Call]) -> set[tuple[str, str]]:
    """Loops that several nests of a function have, or had before these were merged, by function and name."""
    used = {
        (v.func, v.loop_name.split(".")[0])
        for _, arguments, _ in calls
        for v in arguments
        if isinstance(v, LoopWrapper)
    }
    merging = {
        v.func
        for name, arguments, _ in calls
        for v in arguments
        if name == "compute_at" and isinstance(v, LoopWrapper)
    }
    found = {(func, name) for func, name in used if func in merging}
    for func, name in used:
        bands = 0
        for _, band in schedule.get_loops(func):
            bands += any(loop.split(".")[0] == name for loop, _ in band)
        if bands != 1:
            found.add((func, name))
    return found
