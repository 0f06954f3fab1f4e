"""What is known of packs where an input has a fixed value: during reset, and outside of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .nodes import CONSTANT, GATHER, INPUT, MEMORY, READ, REGISTER, Node, UnpackableError

LEAVES = frozenset((INPUT, CONSTANT, REGISTER, MEMORY))
"""Nodes that are computed from nothing of the same cycle."""


def in_order(roots: Iterable[Node], done: dict[Node, bool] | None = None) -> list[Node]:
    """Nodes behind all that they are computed from.

    Args:
        done: those that are left out, to which the found ones are added.

    Raises:
        UnpackableError: a lane waits for another lane of the same signal.
    """
    order: list[Node] = []
    done = {} if done is None else done
    for root in roots:
        waiting = [(root, False)]
        while waiting:
            node, left = waiting.pop()
            if left:
                done[node] = True
                order.append(node)
                continue
            if node in done:
                if not done[node]:
                    raise UnpackableError("lanes wait for lanes")
                continue
            done[node] = False
            waiting.append((node, True))
            if node.kind not in LEAVES:
                waiting += [(arg, False) for arg in node.args if not done.get(arg)]
    return order


def depending(order: list[Node], name: str) -> set[Node]:
    """The nodes that an input changes in the same cycle."""
    found: set[Node] = set()
    for node in order:
        own = node.kind == INPUT and node.detail == name
        if own or node.kind not in LEAVES and any(arg in found for arg in node.args):
            found.add(node)
    return found


def known_values(order: list[Node], inputs: Mapping[str, int]) -> dict[Node, int]:
    """The values, equal in all lanes, of nodes that follow from those of inputs."""
    known: dict[Node, int] = {}
    for node in order:
        value = _value(node, known, inputs)
        if value is not None:
            known[node] = value
    return known


def _value(node: Node, known: Mapping[Node, int], inputs: Mapping[str, int]) -> int | None:
    if node.kind == CONSTANT:
        return int(node.detail)
    if node.kind == INPUT:
        return inputs.get(str(node.detail))
    if node.kind in (REGISTER, MEMORY, READ):
        return None
    values = [known.get(arg) for arg in node.args]
    if node.kind == GATHER:
        first = values[0]
        return first if all(value == first for value in values) else None
    full = (1 << node.width) - 1
    if node.kind == "comb.and" and 0 in values:
        return 0
    if node.kind == "comb.or" and full in values:
        return full
    if node.kind == "comb.mux" and values[0] is not None:
        return values[1 if values[0] else 2]
    if node.kind not in ("comb.and", "comb.or", "comb.xor") or None in values:
        return None
    total = full if node.kind == "comb.and" else 0
    for value in values:
        assert value is not None
        if node.kind == "comb.and":
            total &= value
        else:
            total = total | value if node.kind == "comb.or" else total ^ value
    return total
