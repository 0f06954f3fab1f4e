"""Iterations behind the one that leaves a loop: they have begun when that is known, and asked for ports."""

from __future__ import annotations

from ...compiled import CompiledModule
from ...graph.regions import Leaf
from ..refusal import Unforeseen
from ..variants import Request
from .needs import Needs, asking, places_of


def asked_behind(leaf: Leaf, module: CompiledModule, needs: Needs) -> dict[int, list[Request]]:
    """What iterations ask for that begin behind the last one, by how far they are behind it.

    They go as far as the step in which the last one finds that it is.

    Raises:
        Unforeseen: values that such an iteration would have had say what it asks for.
    """
    body, found = leaf.body, leaf.exit
    requests: dict[int, list[Request]] = {}
    for behind in range(1, found.step // body.ii + 1) if found is not None else ():
        left = found.step - behind * body.ii if found is not None else 0
        for node in body.nodes:
            asked = [place for number, place in places_of(node, module, needs) if number >= 0]
            if not asked or node.time > left:
                continue
            if asking(node):
                raise Unforeseen("a loop that is left early asks for ports by values", node.place)
            requests.setdefault(behind, []).extend(Request(node.time, p, -1) for p in asked)
    return requests
