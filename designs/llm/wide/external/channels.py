# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""Stages where the channels of the weights hold keys and values, too, and have one reader each."""

from typing import Any

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, int32

from ...stage import Kernel, Stage
from ..parameters import kept_lines
from ..stages.sizes import Sizes
from .lines import lines_of
from .serve import schedule_serve, schedule_sort, serve, sort
from .stages import ahead
from .tables import table_lines_ahead


def serving(z: Sizes) -> Stage:
    """One reader a channel, for all that lies on it, and what sorts its lines."""
    C, B, LAYERS, PREFETCH = z.wide.channels, 8 * z.wide.lanes, z.layers, z.wide.prefetch
    held, H, PER = lines_of(z.model, z.wide), z.per_unit, z.wide.across
    KEPT, KEPT_AHEAD, NEW = kept_lines(z.model, z.wide), _lines_ahead(z), max(2, H)
    SIZE, SAID, TABLES = held.size, max(2, held.said), table_lines_ahead(z)
    jobs = [sum(lines) for lines in zip(held.tables, held.words, strict=True)]
    sizes = B, SIZE, held.factors, jobs[0], sum(jobs[1:4]), jobs[4], H, KEPT, PER, LAYERS
    rows = held.token, held.place, z.model.context, held.said
    reader = Kernel(serve, (*sizes, *rows), schedule_serve)
    front = held.token + held.place + held.factors
    sorter = Kernel(sort, (B, front, *held.tables, *held.words, H, PER, LAYERS), schedule_sort)
    SERVE, SORT = reader.template, sorter.template

    @df.part()
    def part(
        token: int32, start: int32, weights: UInt(B)[C, SIZE], said_lines: Stream[UInt(B), SAID][C],
        table_lines: Stream[UInt(B), TABLES][C], words: Stream[UInt(B), PREFETCH][C],
        key_lines: Stream[UInt(B), KEPT_AHEAD][C], value_lines: Stream[UInt(B), KEPT_AHEAD][C],
        new_key_lines: Stream[UInt(B), NEW][C], new_value_lines: Stream[UInt(B), NEW][C],
    ):  # fmt: skip
        lines: Stream[UInt(B), 2][C]

        @df.kernel(mapping=[C], args=[weights])
        def serving(memory: UInt(B)[C, SIZE]):
            c = df.get_pid()
            writes: int32 = 1 if start % PER == c % PER else 0
            serve[*SERVE](
                memory[c], token, start, writes, new_key_lines[c], new_value_lines[c],
                said_lines[c], lines[c],
            )  # fmt: skip

        @df.kernel(mapping=[C])
        def sorting():
            c = df.get_pid()
            sort[*SORT](start, lines[c], table_lines[c], words[c], key_lines[c], value_lines[c])

    return Stage(part, (reader, sorter), banks={"weights": 1})


def joining(z: Sizes) -> Stage:
    """Between channels and units: old lines become words, and a new line goes to its channel."""
    C, L, U, K, H, LAYERS = (
        z.wide.channels, z.wide.lanes, z.wide.heads, z.wide.keys, z.per_unit, z.layers,
    )  # fmt: skip
    KEPT_AHEAD, JOINED, NEW, B, PER = _lines_ahead(z), ahead(z), max(2, H), 8 * L, z.wide.across
    PH = PER // K

    @df.part()
    def part(
        start: int32,
        key_lines: Stream[UInt(B), KEPT_AHEAD][C], value_lines: Stream[UInt(B), KEPT_AHEAD][C],
        new_key_lines: Stream[UInt(B), NEW][C], new_value_lines: Stream[UInt(B), NEW][C],
        old_keys: Stream[UInt(B * K), JOINED][U], old_values: Stream[UInt(B * K), JOINED][U],
        new_keys: Stream[UInt(B), NEW][U], new_values: Stream[UInt(B), NEW][U],
    ):  # fmt: skip
        @df.kernel(mapping=[2, U])
        def joining():
            which, u = df.get_pid()
            words: int32 = (start + PER - 1) // PER * PH
            total: int32 = words * (H * LAYERS)
            # One bit for each turn: no comparison stands in front of the lines that are taken.
            turn: UInt(PH) = 1
            at: int32 = 0
            for word in range(total):
                joined: UInt(B * K) = 0
                with allo.meta_for(PH) as ph:
                    if turn[ph : ph + 1] == 1:
                        with allo.meta_for(K) as k:
                            with allo.meta_if(which == 0):
                                joined[B * k : B * k + B] = key_lines[u * PER + ph * K + k].get()
                            with allo.meta_else():
                                joined[B * k : B * k + B] = value_lines[u * PER + ph * K + k].get()
                if at * K < start:
                    with allo.meta_if(which == 0):
                        old_keys[u].put(joined)
                    with allo.meta_else():
                        old_values[u].put(joined)
                turn = (turn << 1) | turn[PH - 1 : PH]
                at = 0 if at == words - 1 else at + 1

        @df.kernel(mapping=[2, U])
        def returning():
            which, u = df.get_pid()
            own: UInt(8) = start % PER
            for word in range(H * LAYERS):
                new: UInt(B) = 0
                with allo.meta_if(which == 0):
                    new = new_keys[u].get()
                with allo.meta_else():
                    new = new_values[u].get()
                with allo.meta_for(PER) as k:
                    if own == k:
                        with allo.meta_if(which == 0):
                            new_key_lines[u * PER + k].put(new)
                        with allo.meta_else():
                            new_value_lines[u * PER + k].put(new)

    def also(s: Any) -> None:
        for name in ("joining", "returning"):
            for which in range(2):
                for u in range(U):
                    s.pipeline(f"{name}_{which}_{u}:word")

    return Stage(part, also=also)


def _lines_ahead(z: Sizes) -> int:
    """Lines of keys, and of values, of a channel that may wait for their unit."""
    return max(2, z.wide.cache_prefetch // z.wide.across)
