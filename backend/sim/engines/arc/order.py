"""Order things so that few of their edges point backward (Eades, Lin, Smyth, IPL 47, 1993)."""

from __future__ import annotations

from collections.abc import Mapping


def least_backward(count: int, edges: Mapping[tuple[int, int], int]) -> list[int]:
    """The numbers below ``count``, ordered so that little weight of edges points backward.

    Sources go to the front and sinks to the back; of what remains, the one with most more
    weight going out than coming in goes to the front.

    Args:
        edges: weight of each edge from one number to another.
    """
    out: list[dict[int, int]] = [{} for _ in range(count)]
    into: list[dict[int, int]] = [{} for _ in range(count)]
    for (start, end), weight in edges.items():
        out[start][end] = into[end][start] = weight
    gain = [sum(out[n].values()) - sum(into[n].values()) for n in range(count)]
    left = dict.fromkeys(range(count))
    front: list[int] = []
    back: list[int] = []

    def take(number: int) -> None:
        del left[number]
        for other, weight in out[number].items():
            into[other].pop(number, None)
            gain[other] += weight
        for other, weight in into[number].items():
            out[other].pop(number, None)
            gain[other] -= weight

    while left:
        sink = next((n for n in left if not out[n]), None)
        if sink is not None:
            take(sink)
            back.append(sink)
            continue
        source = next((n for n in left if not into[n]), None)
        chosen = source if source is not None else max(left, key=lambda n: gain[n])
        take(chosen)
        front.append(chosen)
    return front + back[::-1]
