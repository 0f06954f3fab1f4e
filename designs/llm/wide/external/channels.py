# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""Stages where the channels of the weights hold keys and values, too, and have one reader each."""

from typing import Any

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, int32

from ...stage import Kernel, Stage
from ..parameters import page_lines
from ..stages.sizes import Sizes
from .lines import lines_of, lines_waiting
from .serve import plan, schedule_plan, schedule_serve, schedule_sort, serve, sort
from .stages import ahead, new_ahead
from .tables import said_ahead, table_lines_ahead


def serving(z: Sizes) -> Stage:
    """One reader a channel, for all that lies on it, and what sorts its lines by a plan of them."""
    C, B, LAYERS, PREFETCH = z.wide.channels, 8 * z.wide.lanes, z.layers, z.wide.prefetch
    held, H, PER, BLOCK = lines_of(z.model, z.wide), z.per_unit, z.wide.across, z.wide.kept_block
    PAGE, S, WIDTH, AHEAD = (
        page_lines(z.model, z.wide),
        max(BLOCK, 1),
        z.kept_bits,
        lines_waiting(z.wide),
    )
    SIZE, BACK, TABLES = held.size, written_ahead(z), table_lines_ahead(z)
    jobs = [sum(lines) for lines in zip(held.tables, held.words, strict=True)]
    sizes = B, SIZE, held.factors, jobs[0], sum(jobs[1:4]), jobs[4], H, PAGE, LAYERS
    rows = held.token, held.place, z.model.context, held.said
    reader = Kernel(serve, (*sizes, *rows), schedule_serve)
    front = held.token + held.place + held.factors
    runs = front, *held.tables, *held.words, H, LAYERS, BLOCK
    planner = Kernel(plan, runs, lambda s: schedule_plan(s, BLOCK > 0))
    total = front + LAYERS * sum(jobs[:4]) + jobs[4]
    sorter = Kernel(sort, (B, total, H, LAYERS, WIDTH, BLOCK), schedule_sort)
    SERVE, SORT, PLAN = reader.template, sorter.template, planner.template

    @df.part()
    def part(
        token: int32, start: int32, weights: UInt(B)[C, SIZE], back_lines: Stream[UInt(B), BACK][C],
        table_lines: Stream[UInt(B), TABLES][C], words: Stream[UInt(B), PREFETCH][C],
        key_lines: Stream[UInt(WIDTH), AHEAD][C], value_lines: Stream[UInt(WIDTH), AHEAD][C],
    ):  # fmt: skip
        lines: Stream[UInt(B), 2][C]
        runs: Stream[UInt(28), 4][C]

        @df.kernel(mapping=[C], args=[weights])
        def serving(memory: UInt(B)[C, SIZE]):
            c = df.get_pid()
            writes: int32 = 1 if start % PER == c % PER else 0
            rows: int32 = (start + PER - 1) // PER
            old: int32 = rows * 2
            first: int32 = start // PER * 2
            second: int32 = first + 1
            with allo.meta_if(BLOCK > 0):
                old = rows + (rows + S - 1) // S
                first = start // PER // S * (S + 1)
                second = start // PER // S + start // PER + 1
            serve[*SERVE](
                memory[c], token, start, old, writes, first, second, back_lines[c], lines[c],
            )  # fmt: skip

        @df.kernel(mapping=[C])
        def planning():
            c = df.get_pid()
            rows: int32 = (start + PER - 1) // PER
            old: int32 = rows * 2
            blocks: int32 = 0
            with allo.meta_if(BLOCK > 0):
                blocks = (rows + S - 1) // S
                old = rows + blocks
            plan[*PLAN](old, blocks, runs[c])

        @df.kernel(mapping=[C])
        def sorting():
            c = df.get_pid()
            rows: int32 = (start + PER - 1) // PER
            old: int32 = rows * 2
            with allo.meta_if(BLOCK > 0):
                old = rows + (rows + S - 1) // S
            sort[*SORT](
                old, runs[c], lines[c], table_lines[c], words[c], key_lines[c], value_lines[c]
            )

    return Stage(part, (reader, planner, sorter), banks={"weights": 1})


def joining(z: Sizes) -> Stage:
    """Old keys, and old values, of a unit's channels become words of several.

    Of four bits it also tells the steps of what the channel of the token's position holds of its block.
    """
    C, U, K, H, LAYERS = z.wide.channels, z.wide.heads, z.wide.keys, z.per_unit, z.layers
    KEPT_AHEAD, JOINED, NEW, PER = lines_waiting(z.wide), ahead(z), new_ahead(z), z.wide.across
    PH, WIDTH, BLOCK, HALF = PER // K, z.kept_bits, z.wide.kept_block, 4 * z.wide.lanes
    STEPS, S, TELLS = WIDTH - HALF, max(BLOCK, 1), 2 * U if BLOCK else 1

    @df.part()
    def part(
        start: int32,
        key_lines: Stream[UInt(WIDTH), KEPT_AHEAD][C], value_lines: Stream[UInt(WIDTH), KEPT_AHEAD][C],
        old_keys: Stream[UInt(WIDTH * K), JOINED][U], old_values: Stream[UInt(WIDTH * K), JOINED][U],
        befores: Stream[UInt(HALF), NEW][TELLS],
    ):  # fmt: skip
        @df.kernel(mapping=[2, U])
        def joining():
            which, u = df.get_pid()
            words: int32 = (start + PER - 1) // PER * PH
            total: int32 = words * (H * LAYERS)
            # One bit for each turn: no comparison stands in front of the lines that are taken.
            turn: UInt(PH) = 1
            at: int32 = 0
            row: int32 = 0
            newest: int32 = start // PER
            slot: UInt(8) = 0
            own: UInt(8) = start % PER
            before: UInt(HALF) = 0
            for word in range(total):
                joined: UInt(WIDTH * K) = 0
                with allo.meta_for(PH) as ph:
                    if turn[ph : ph + 1] == 1:
                        with allo.meta_for(K) as k:
                            with allo.meta_if(which == 0):
                                joined[WIDTH * k : WIDTH * k + WIDTH] = key_lines[
                                    u * PER + ph * K + k
                                ].get()
                            with allo.meta_else():
                                joined[WIDTH * k : WIDTH * k + WIDTH] = value_lines[
                                    u * PER + ph * K + k
                                ].get()
                if at * K < start:
                    with allo.meta_if(which == 0):
                        old_keys[u].put(joined)
                    with allo.meta_else():
                        old_values[u].put(joined)
                with allo.meta_if(BLOCK > 0):
                    mine: UInt(STEPS) = 0
                    is_mine: UInt(1) = 0
                    with allo.meta_for(PH) as ph:  # noqa: SIM117
                        with allo.meta_for(K) as k:
                            if turn[ph : ph + 1] == 1 and own == ph * K + k:
                                is_mine = 1 if row < newest else 0
                                mine = joined[WIDTH * k + HALF : WIDTH * k + WIDTH]
                    told: UInt(HALF) = 0 if (slot == 0 and turn[0:1] == 1) else before
                    with allo.meta_for(S) as s:
                        if slot == s and is_mine == 1:
                            told[STEPS * s : STEPS * s + STEPS] = mine
                    before = told
                    if at == words - 1:
                        befores[which * U + u].put(told)
                    is_over: UInt(1) = turn[PH - 1 : PH]
                    following: UInt(8) = 0 if (slot == S - 1 or at == words - 1) else slot + 1
                    slot = following if is_over == 1 else slot
                    row = (0 if at == words - 1 else row + 1) if is_over == 1 else row
                turn = (turn << 1) | turn[PH - 1 : PH]
                at = 0 if at == words - 1 else at + 1

    def also(s: Any) -> None:
        for which in range(2):
            for u in range(U):
                s.pipeline(f"joining_{which}_{u}:word")

    return Stage(part, also=also)


def returning(z: Sizes) -> Stage:
    """One a unit: lines that are written go to its channels.

    The new key and value of a head are two lines, for the channel of the token's position; behind those of
    all layers come the logits' lines, channel by channel.
    """
    C, U, H, LAYERS, PER = z.wide.channels, z.wide.heads, z.per_unit, z.layers, z.wide.across
    B, NEW, WIDTH, BLOCK, HALF = (
        8 * z.wide.lanes, new_ahead(z), z.kept_bits, z.wide.kept_block, 4 * z.wide.lanes,
    )  # fmt: skip
    STEPS, S, TELLS = WIDTH - HALF, max(BLOCK, 1), 2 * U if BLOCK else 1
    SAID, BACK = lines_of(z.model, z.wide).said * PER, written_ahead(z)

    @df.part()
    def part(
        start: int32, befores: Stream[UInt(HALF), NEW][TELLS],
        new_keys: Stream[UInt(WIDTH), NEW][U], new_values: Stream[UInt(WIDTH), NEW][U],
        handed_lines: Stream[UInt(B), 2][U], back_lines: Stream[UInt(B), BACK][C],
    ):  # fmt: skip
        @df.kernel(mapping=[U])
        def returning():
            u = df.get_pid()
            own: UInt(8) = start % PER
            slot: UInt(8) = start // PER % S
            held: UInt(B) = 0
            other: UInt(B) = 0
            is_held: UInt(1) = 0
            is_second: UInt(1) = 0
            for word in range(2 * H * LAYERS):
                with allo.meta_for(PER) as k:
                    if is_held == 1 and own == k:
                        back_lines[u * PER + k].put(held)
                is_held = 1
                with allo.meta_if(BLOCK == 0):
                    if is_second == 0:
                        held = new_keys[u].get()
                    else:
                        held = new_values[u].get()
                with allo.meta_else():
                    key: UInt(WIDTH) = 0
                    value: UInt(WIDTH) = 0
                    of_keys: UInt(HALF) = 0
                    of_values: UInt(HALF) = 0
                    if is_second == 0:
                        key = new_keys[u].get()
                        value = new_values[u].get()
                    if is_second == 0 and start > 0:
                        of_keys = befores[u].get()
                        of_values = befores[U + u].get()
                    of_keys = 0 if slot == 0 else of_keys
                    of_values = 0 if slot == 0 else of_values
                    with allo.meta_for(S) as s:
                        if slot == s:
                            of_keys[STEPS * s : STEPS * s + STEPS] = key[HALF:WIDTH]
                            of_values[STEPS * s : STEPS * s + STEPS] = value[HALF:WIDTH]
                    first: UInt(B) = of_keys
                    first[HALF:B] = of_values
                    second: UInt(B) = key[0:HALF]
                    second[HALF:B] = value[0:HALF]
                    held = first if is_second == 0 else other
                    other = second
                is_second = is_second ^ 1
            turn: UInt(8) = own
            following: UInt(8) = 0
            for line in range(SAID):
                with allo.meta_for(PER) as k:
                    if turn == k:
                        back_lines[u * PER + k].put(held)
                held = handed_lines[u].get()
                turn = following
                following = 0 if following == PER - 1 else following + 1
            with allo.meta_for(PER) as k:
                if turn == k:
                    back_lines[u * PER + k].put(held)

    loops = tuple(f"returning_{u}:{loop}" for u in range(U) for loop in ("word", "line"))
    return Stage(part, loops=loops)


def handing(z: Sizes) -> Stage:
    """One a unit: lines of logits come from the memory in which they wait.

    So a channel that has no room holds up a stream of two lines, and not all registers behind that memory.
    """
    U, B, WAITING = z.wide.heads, 8 * z.wide.lanes, said_ahead(z)
    SAID = lines_of(z.model, z.wide).said * z.wide.across

    @df.part()
    def part(
        said_lines: Stream[UInt(B), WAITING][U], handed_lines: Stream[UInt(B), 2][U],
    ):  # fmt: skip
        @df.kernel(mapping=[U])
        def handing_said():
            u = df.get_pid()
            for line in range(SAID):
                handed_lines[u].put(said_lines[u].get())

    return Stage(part, loops=tuple(f"handing_said_{u}:line" for u in range(U)))


def written_ahead(z: Sizes) -> int:
    """Lines that may wait for the reader of a channel: the new ones of a layer."""
    return 2 * z.per_unit
