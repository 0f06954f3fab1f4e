"""The hierarchy of a model: which operators stand in which call of which module."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from .graph import ModuleCall, Operator


@dataclass(slots=True)
class Region:
    """One call of a module, which becomes one function.

    Attributes:
        call: the call; None for the model itself.
        items: operators and inner regions, in order.
    """

    call: ModuleCall | None
    items: list[Operator | Region] = field(default_factory=list)

    def operators(self) -> Iterator[Operator]:
        """All operators, those of inner regions too."""
        for item in self.items:
            if isinstance(item, Operator):
                yield item
            else:
                yield from item.operators()

    def reads(self) -> list[str]:
        """The values from outside that its operators read, in order."""
        made = {op.name for op in self.operators()}
        names = (name for op in self.operators() for name in op.refs())
        return list(dict.fromkeys(name for name in names if name not in made))


def region_tree(operators: Sequence[Operator], views: Collection[str]) -> Region:
    """Operators by their module calls; calls in which nothing is computed are dissolved.

    Args:
        operators: in order.
        views: the targets that compute nothing.
    """
    root = Region(None)
    opened = [root]
    stacks: dict[str, tuple[ModuleCall, ...]] = {}
    for operator in operators:
        stack = operator.stack
        if operator.target == "getitem":  # stands where the tuple is made
            stack = stacks[next(operator.refs())]
        stacks[operator.name] = stack
        depth = 0
        while depth < min(len(stack), len(opened) - 1) and opened[depth + 1].call == stack[depth]:
            depth += 1
        del opened[depth + 1 :]
        for call in stack[depth:]:
            inner = Region(call)
            opened[-1].items.append(inner)
            opened.append(inner)
        opened[-1].items.append(operator)
    return _dissolved(root, views)


def _dissolved(region: Region, views: Collection[str]) -> Region:
    items: list[Operator | Region] = []
    for item in region.items:
        if isinstance(item, Operator):
            items.append(item)
            continue
        inner = _dissolved(item, views)
        if all(op.target in views for op in inner.operators()):
            items += inner.items
        else:
            items.append(inner)
    return Region(region.call, items)
