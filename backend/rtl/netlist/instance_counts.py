"""How often each module is in a design."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Protocol


class HasInstances(Protocol):
    """A module that knows which modules are inside it, each with how often it is there."""

    @property
    def instances(self) -> Mapping[str, int]:
        """By the names of these modules."""


def instance_counts(modules: Mapping[str, HasInstances], top: str) -> Counter[str]:
    """How often each module is inside another one, itself included; the others are not in the answer."""
    counts: Counter[str] = Counter()
    _count(modules, top, 1, counts)
    return counts


def _count(
    modules: Mapping[str, HasInstances], name: str, times: int, counts: Counter[str]
) -> None:
    counts[name] += times
    for inner, number in modules[name].instances.items():
        if inner in modules:
            _count(modules, inner, times * number, counts)
