"""A network as a picture in SVG: processes in columns from producers to consumers.

Colours are those of the text around it, so that it is readable in a light and in a dark notebook. Of a
network of many processes the groups of equal ones are drawn; a click unfolds it.
"""

from __future__ import annotations

from html import escape

from .network import MOST, Fifo, Network, condensed, group_of

_MOST_DRAWN = 400
_CHARACTER, _HEIGHT, _ROW, _GAP = 8, 28, 64, 24
_BESIDE_LABEL, _BEND = 40, 60
_LIFT, _LIFT_MORE = (
    56,
    28,
)  # how far a FIFO that passes other columns bends upwards, and each further one

type Place = tuple[int, int, int]


def draw(network: Network) -> str:
    """The network as HTML: a drawing, of groups that a click unfolds where there are many processes."""
    if len(network.processes) <= MOST:
        return picture(network)
    groups = condensed(network)
    count = f"{len(network.processes)} processes, {len(network.fifos)} FIFOs"
    whole = picture(network) if len(network.processes) <= _MOST_DRAWN else ""
    return (
        f"<div>{picture(groups)}</div>"
        f"<details><summary>{count}</summary>{_zoomed(whole)}{_unfolded(network)}</details>"
    )


def _zoomed(picture: str) -> str:
    """A picture as wide as its page, and at its own size after a click."""
    if not picture:
        return ""
    return (
        "<style>.allo-zoom>svg{max-width:100%;height:auto}"
        ".allo-zoom>input:checked~svg{max-width:none}</style>"
        '<div class="allo-zoom" style="overflow: auto"><input type="checkbox"> zoom<br>'
        f"{picture}</div>"
    )


def _unfolded(network: Network) -> str:
    """For each group, what its processes are joined to."""
    group = group_of(network)
    joined: dict[str, list[Fifo]] = {name: [] for name in group.values()}
    for fifo in network.fifos:
        for name in {group[end] for end in (fifo.producer, fifo.consumer) if end}:
            joined[name].append(fifo)
    return "".join(
        f"<details><summary>{escape(name)}</summary>{_table(fifos)}</details>"
        for name, fifos in joined.items()
    )


def picture(network: Network) -> str:
    """The network as SVG, every process a box."""
    columns = columns_of(network)
    edges = _edges(network)
    lifts = _lifts(columns, edges)
    places = _places(columns, edges, max(lifts.values(), default=0))
    beside = _BEND if any(lifts.values()) else 0
    width = max(x + wide for x, _, wide in places.values()) + _GAP + beside
    height = max(y for _, y, _ in places.values()) + _HEIGHT + _GAP
    shapes = [_edge(places[a], places[b], f, lifts[a, b]) for (a, b), f in edges.items()]
    shapes += [_box(name, place) for name, place in places.items()]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="monospace" font-size="12" '
        f'fill="none" stroke="currentColor">{"".join(shapes)}</svg>'
    )


def columns_of(network: Network) -> list[list[str]]:
    """Processes by the longest way that leads to them; a FIFO that closes a circle does not count."""
    followers: dict[str, list[str]] = {name: [] for name in network.processes}
    for fifo in network.fifos:
        if fifo.producer and fifo.consumer:
            followers[fifo.producer].append(fifo.consumer)
    order = _order(network.processes, followers)
    column = dict.fromkeys(order, 0)
    for at, name in enumerate(order):
        for follower in followers[name]:
            if order.index(follower) > at:
                column[follower] = max(column[follower], column[name] + 1)
    return [
        [name for name in network.processes if column[name] == number]
        for number in range(max(column.values(), default=0) + 1)
    ]


def _order(processes: tuple[str, ...], followers: dict[str, list[str]]) -> list[str]:
    """A topological order as far as there is one: depth first, from processes without producers."""
    led_to = {f for name in processes for f in followers[name] if f != name}
    done: list[str] = []
    begun: set[str] = set()
    for start in sorted(processes, key=lambda name: name in led_to):
        stack = [(start, iter(followers[start]))] if start not in begun else []
        begun.add(start)
        while stack:
            name, rest = stack[-1]
            following = next((f for f in rest if f not in begun), None)
            if following is None:
                done.append(name)
                stack.pop()
            else:
                begun.add(following)
                stack.append((following, iter(followers[following])))
    return done[::-1]


def _edges(network: Network) -> dict[tuple[str, str], list[Fifo]]:
    """The FIFOs between each two processes."""
    edges: dict[tuple[str, str], list[Fifo]] = {}
    for fifo in network.fifos:
        if fifo.producer and fifo.consumer:
            edges.setdefault((fifo.producer, fifo.consumer), []).append(fifo)
    return edges


def _lifts(
    columns: list[list[str]], edges: dict[tuple[str, str], list[Fifo]]
) -> dict[tuple[str, str], int]:
    """How far each edge bends upwards: not at all to the next column, else past what is between."""
    column = {name: number for number, names in enumerate(columns) for name in names}
    lifts: dict[tuple[str, str], int] = {}
    for start, end in edges:
        next_to = column[end] == column[start] + 1
        bent = sum(1 for lift in lifts.values() if lift)
        lifts[start, end] = 0 if next_to else _LIFT + bent * _LIFT_MORE
    return lifts


def _places(
    columns: list[list[str]], edges: dict[tuple[str, str], list[Fifo]], lift: int
) -> dict[str, Place]:
    """Left edge, upper edge and width of each process's box, with room for the highest bend."""
    label = max((len(_label(fifos)) for fifos in edges.values()), default=0)
    places: dict[str, Place] = {}
    left, tallest = 2 + (_BEND if lift else 0), max(len(column) for column in columns)
    for column in columns:
        wide = max(len(name) for name in column) * _CHARACTER + 16
        above = (tallest - len(column)) * _ROW // 2 + _GAP + lift * 3 // 4
        for row, name in enumerate(column):
            places[name] = (left, above + row * _ROW, wide)
        left += wide + label * _CHARACTER + _BESIDE_LABEL
    return places


def _label(fifos: list[Fifo]) -> str:
    first = fifos[0]
    more = f" +{len(fifos) - 1}" if len(fifos) > 1 else ""
    return f"{first.name} ({first.depth}){more}"


def _box(name: str, place: Place) -> str:
    x, y, wide = place
    return (
        f'<rect x="{x}" y="{y}" width="{wide}" height="{_HEIGHT}" rx="5"/>'
        f'<text x="{x + wide // 2}" y="{y + 18}" text-anchor="middle" fill="currentColor" '
        f'stroke="none">{escape(name)}</text>'
    )


def _edge(start: Place, end: Place, fifos: list[Fifo], lift: int) -> str:
    """A curve with an arrow head, its label, and every FIFO in the tool tip."""
    x1, y1 = start[0] + start[2], start[1] + _HEIGHT // 2
    x2, y2 = end[0], end[1] + _HEIGHT // 2
    bend = max(_BESIDE_LABEL // 2, abs(x2 - x1) // 2)
    bend = min(bend, _BEND) if lift else bend
    top = (
        y1 + y2
    ) // 2 - lift * 3 // 4  # where a curve with control points lifted so far has its middle
    tip = "&#10;".join(escape(f"{f.name}: {f.dtype}, depth {f.depth}") for f in fifos)
    return (
        f"<g><title>{tip}</title>"
        f'<path d="M{x1} {y1}C{x1 + bend} {y1 - lift} {x2 - bend} {y2 - lift} {x2} {y2}" '
        f'opacity="0.7"/><path d="M{x2 - 7} {y2 - 4}L{x2} {y2}L{x2 - 7} {y2 + 4}" opacity="0.7"/>'
        f'<text x="{(x1 + x2) // 2}" y="{top - 5}" text-anchor="middle" '
        f'fill="currentColor" stroke="none" opacity="0.8">{escape(_label(fifos))}</text></g>'
    )


def _table(fifos: list[Fifo]) -> str:
    rows = "".join(
        f"<tr><td>{escape(f.producer or '–')}</td><td>{escape(f.consumer or '–')}</td>"
        f"<td>{escape(f.name)}</td><td>{escape(f.dtype)}</td><td>{f.depth}</td></tr>"
        for f in fifos
    )
    heads = "".join(f"<th>{h}</th>" for h in ("from", "to", "FIFO", "type", "depth"))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
