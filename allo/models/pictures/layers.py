"""A network as a picture in SVG: its layers from top to bottom, what flows between them, and their cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ..graph import Model
from .flows import Flow

_WIDTH, _HEIGHT, _GAP, _LANE, _CHARACTER = 320, 54, 26, 14, 8
_BAR = 4


@dataclass(frozen=True, slots=True)
class Block:
    """A layer of a network.

    Attributes:
        path: of the module, ``"Conv_3"``.
        kind: of the module, ``"Conv"``.
        result: type and shape of what it gives, ``"int5[1, 64]"``.
        sources: the paths of the layers that it reads; ``""`` is an input of the network.
    """

    path: str
    kind: str
    result: str
    sources: tuple[str, ...]


def blocks_of(graph: Model, kinds: Mapping[str, str]) -> list[Block]:
    """The layers of a graph, in the order in which they run.

    Args:
        graph: of operators, each in the module that it was made of.
        kinds: of the modules, by path.
    """
    made = {op.name: op.path for op in graph.operators}
    results: dict[str, str] = {}
    sources: dict[str, dict[str, None]] = {}
    for op in graph.operators:
        meta = op.metas[0]
        if meta is not None:
            results[op.path] = f"{meta.dtype}[{', '.join(map(str, meta.shape))}]"
        read = sources.setdefault(op.path, {})
        for name in op.refs():
            path = made.get(name, "" if name in graph.inputs else None)
            if path is not None and path != op.path:
                read[path] = None
    return [
        Block(path, kinds.get(path, ""), results.get(path, ""), tuple(read))
        for path, read in sources.items()
    ]


def picture(
    blocks: Sequence[Block],
    cycles: Mapping[str, int | None],
    flows: Sequence[Flow] = (),
    caption: str = "",
) -> str:
    """The layers as SVG, each with a bar as long as its share of the slowest layer's cycles.

    Args:
        blocks: the layers.
        cycles: of the layers, by path; none where a layer computes nothing.
        flows: FIFOs between them, which are written beside the lines.
        caption: what the numbers are, below the layers.
    """
    places = {block.path: row for row, block in enumerate(blocks, 1)}
    lanes = _lanes(blocks, places)
    left = _LANE * (max(lanes.values(), default=0) + 2)
    text = max((len(b.path) + len(b.kind) + 12 for b in blocks), default=0)
    width = max(_WIDTH, text * _CHARACTER)
    slowest = max((n for n in cycles.values() if n), default=1)
    parts = [_box(left, 0, width, "input", "", "", None, 0.0)]
    for block in blocks:
        count = cycles.get(block.path)
        share = (count or 0) / slowest
        row = places[block.path]
        parts.append(_box(left, row, width, block.path, block.kind, block.result, count, share))
    held: dict[tuple[str, str], list[str]] = {}
    for flow in flows:
        held.setdefault((flow.source, flow.target), []).append(f"{flow.most} of {flow.depth} words")
    for ends in _edges(blocks):
        parts.append(_edge(left, width, places, lanes, *ends, " + ".join(held.get(ends, ()))))
    whole = (left + width + 2, (len(blocks) + 1) * (_HEIGHT + _GAP))
    if caption:
        parts.append(f'<text x="{left}" y="{whole[1] - 8}" font-size="11">{escape(caption)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole[0]}" height="{whole[1]}" '
        f'font-family="monospace" font-size="13" fill="currentColor" stroke="none">{"".join(parts)}</svg>\n'
    )


def _edges(blocks: Sequence[Block]) -> list[tuple[str, str]]:
    return [(source, block.path) for block in blocks for source in block.sources]


def _lanes(blocks: Sequence[Block], places: Mapping[str, int]) -> dict[tuple[str, str], int]:
    """Beside which column each edge passes that skips layers: none that overlap have the same."""
    taken: list[list[tuple[int, int]]] = []
    found = {}
    for source, target in _edges(blocks):
        start, end = places.get(source, 0), places[target]
        if end == start + 1:
            continue
        free = (
            lane
            for lane, spans in enumerate(taken)
            if all(end <= first or start >= last for first, last in spans)
        )
        lane = next(free, len(taken))
        if lane == len(taken):
            taken.append([])
        taken[lane].append((start, end))
        found[source, target] = lane + 1
    return found


def _box(
    x: int,
    row: int,
    width: int,
    path: str,
    kind: str,
    result: str,
    cycles: int | None,
    share: float,
) -> str:
    y = row * (_HEIGHT + _GAP) + 1
    count = "" if cycles is None else f"{cycles:,} cycles"
    bar = f'<rect x="{x}" y="{y + _HEIGHT - _BAR}" width="{width * share:.0f}" height="{_BAR}"/>'
    return (
        f'<g><title>{escape(path)}</title><rect x="{x}" y="{y}" width="{width}" height="{_HEIGHT}" rx="4" '
        f'fill="none" stroke="currentColor"/>{bar if share else ""}'
        f'<text x="{x + 8}" y="{y + 20}" font-weight="bold">{escape(path)}</text>'
        f'<text x="{x + width - 8}" y="{y + 20}" text-anchor="end">{escape(kind)}</text>'
        f'<text x="{x + 8}" y="{y + 40}">{escape(result)}</text>'
        f'<text x="{x + width - 8}" y="{y + 40}" text-anchor="end">{count}</text></g>'
    )


def _edge(
    x: int,
    width: int,
    places: Mapping[str, int],
    lanes: Mapping[tuple[str, str], int],
    source: str,
    target: str,
    fill: str,
) -> str:
    """A line from below one box to the top of the next, or around those between them."""
    pitch = _HEIGHT + _GAP
    start, end = places.get(source, 0) * pitch + _HEIGHT + 1, places[target] * pitch + 1
    lane = lanes.get((source, target))
    name = f"<title>{escape(source or 'input')} to {escape(target)}</title>"
    if lane is None:
        entry = x + width // 2
        path = f"M {entry} {start} V {end}"
    else:
        beside, entry = x - lane * _LANE, x + 10 + lane * 6
        path = f"M {entry} {start} v {_GAP // 3} H {beside} V {end - _GAP // 3} H {entry} V {end}"
    line = f'<path d="{path}" fill="none" stroke="currentColor">{name}</path>'
    if not fill:
        return line
    return f'{line}<text x="{entry + 6}" y="{end - 8}" font-size="11">{fill}</text>'
