"""A network of processes as data, and the same with equal processes as one."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

MOST = 12
"""So many processes are drawn one by one; so many functions are a group each, beyond it a kernel is."""
_COORDINATES = re.compile(r"(_\d+)+$")


@dataclass(frozen=True, slots=True)
class Fifo:
    """A FIFO; an end that no process of the region holds is None (the outside, or nobody)."""

    name: str
    dtype: str
    depth: int
    producer: str | None
    consumer: str | None


@dataclass(frozen=True, slots=True)
class Network:
    """Processes in the order of their calls, the function that each runs, and the region's FIFOs."""

    processes: tuple[str, ...]
    fifos: tuple[Fifo, ...]
    functions: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Network:
        """The network that ``dataclasses.asdict`` gave as plain data."""
        fifos = tuple(Fifo(**fifo) for fifo in data["fifos"])
        return cls(tuple(data["processes"]), fifos, tuple(data["functions"]))


def process_names(functions: list[str]) -> list[str]:
    """Names of processes by the functions that they run: those that share one are numbered."""
    seen: Counter[str] = Counter()
    names = []
    for function in functions:
        seen[function] += 1
        names.append(function if seen[function] == 1 else f"{function} #{seen[function]}")
    return names


def group_of(network: Network) -> dict[str, str]:
    """Process to its group: those that run one function; cells of one kernel where these are many."""
    functions = network.functions or network.processes
    if len(set(functions)) > MOST:
        functions = tuple(base_name(name) for name in functions)
    counts = Counter(functions)
    return {
        process: function if counts[function] == 1 else f"{function} × {counts[function]}"
        for process, function in zip(network.processes, functions, strict=True)
    }


def base_name(name: str) -> str:
    """The name of a kernel or of an array of FIFOs without the place of one in it."""
    return _COORDINATES.sub("", name) or name


def base_names(text: str) -> str:
    """A text with the base name of everything that it names."""
    return re.sub(r"\w+", lambda word: base_name(word[0]), text)


def condensed(network: Network) -> Network:
    """The network of the groups, each array of FIFOs between two groups as one."""
    group = group_of(network)
    bundles = Counter(
        (
            base_name(fifo.name),
            fifo.dtype,
            fifo.depth,
            group[fifo.producer] if fifo.producer else None,
            group[fifo.consumer] if fifo.consumer else None,
        )
        for fifo in network.fifos
    )
    fifos = tuple(
        Fifo(name if count == 1 else f"{name} × {count}", dtype, depth, producer, consumer)
        for (name, dtype, depth, producer, consumer), count in bundles.items()
    )
    return Network(tuple(dict.fromkeys(group.values())), fifos)
