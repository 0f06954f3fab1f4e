# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""Channels in the regions of a device: what stands between those of a region and the middle one.

With ``Wide(regions=(12, 8, 12))`` the first 12 channels lie in the first region, with their readers, elements
and units of attention, and all that there is once lies in the middle region. Each stream between both is one
of a region, with a process at its end that deals words to the channels, or joins theirs. So a word passes a
border once for all channels behind it.

What puts a word over a border puts the one that it took in the iteration before, from a register, and takes
the next one last. So it is offered in the cycle after the one in which the FIFO beyond the border has said
that it has room, and no path goes there and back.
"""

from collections.abc import Callable
from typing import Any

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, float32, int32

from ...stage import Loops, Placed, Stage
from ..parameters import Wide, WidthError
from ..stages.linear import HOP
from ..stages.sizes import Sizes
from .lines import lines_of
from .stages import drained
from .tables import all_table_lines, said_ahead, table_lines_ahead

KEPT = 1
"""Cycles in which a word stands in the register from which it is put over a border."""


def check_regions(wide: Wide) -> None:
    """Refuse channels that cannot lie in regions.

    Raises:
        WidthError: naming what does not fit.
    """
    if not wide.regions:
        return
    if wide.cache != "channels":
        raise WidthError(
            "Channels lie in regions only where they hold keys, values and tables, too.",
            help='take cache="channels", or leave regions.',
        )
    if len(wide.regions) != 3 or sum(wide.regions) != wide.channels or min(wide.regions) < 1:
        raise WidthError(
            f"The {wide.channels} channels do not lie in three regions of {wide.regions}.",
            help="give the channels of each of three regions, of which the middle one has all else.",
        )
    if any(size % wide.across for size in wide.regions):
        raise WidthError(
            f"A unit of attention has {wide.across} channels, and regions of {wide.regions} part some.",
            help=f"give each region a multiple of {wide.across} channels.",
        )
    if wide.channels < wide.vector:
        raise WidthError(
            f"{wide.channels} channels in regions do not end a word of {wide.vector} sums together.",
            help=f"take a vector of {wide.channels} elements or less.",
        )


def stages_over_borders(z: Sizes) -> dict[str, Placed]:
    """The processes at the ends of the streams over borders, by the names of their stages."""
    line, head = UInt(8 * z.wide.lanes), UInt(8 * z.model.head_dim)
    word, heads = UInt(8 * z.wide.activations + z.more), z.layers * z.per_unit
    lines = lines_of(z.model, z.wide).said
    per_unit = _per_region(z, z.wide.unit_spans)
    per_channel = _per_region(z, z.wide.spans())
    queries = tuple(heads * (z.group + 1) * units for units in per_unit)
    hops = {
        "sent": (word, (_spread_words(z),) * 3),
        "asked": (head, queries),
        "given": (head, tuple(heads * units for units in per_unit)),
        "exponents": (float32, (z.layers,) * 3),
        "said": (line, tuple(lines * channels for channels in per_channel)),
        "lines": (line, tuple(all_table_lines(z) * channels for channels in per_channel)),
        "sums": (UInt(32 * max(z.wide.regions)), (z.sums // z.wide.channels,) * 3),
        "mixed": (
            UInt(32 * (z.wide.vector + z.group)),
            tuple(heads * _drained_words(z) * units for units in per_unit),
        ),
    }
    found = {f"{name} hops": _hops(z, name, kind, words) for name, (kind, words) in hops.items()}
    ends = {
        "spreading on": _spreading(z),
        "gathering in": _gathering(z),
        "lining in": _lining(z),
        "dealing on": _dealing(z),
        "factoring on": _factoring(z),
        "collecting in": _collecting(z),
        "saying on": _saying(z),
    }
    return found | {name: Placed(stage) for name, stage in ends.items()}


NAMES = {
    "spreading": {"inputs": "near_sent"},
    "gathering": {"sums": "over_sums"},
    "lining": {"table_lines": "over_lines"},
    "dealing": {"asked": "near_asked", "given": "near_given"},
    "factoring": {"exponents": "near_exponents"},
    "collecting": {"mixed": "over_mixed"},
    "saying": {"said_lines": "near_said"},
}
"""How the streams of the stages in the middle are called where they end at a border."""


def placement(z: Sizes) -> dict[str, tuple[int, ...]]:
    """The region of each process that does not lie in the middle, for ``estimate(regions=…)``.

    What puts words over a border lies where they come from.
    """
    channels, units = z.wide.region_of(), z.wide.region_of(z.wide.across)
    regions = tuple(range(len(z.wide.regions)))
    ends = (
        "spreading_on", "gathering_in", "lining_in", "asking_on", "giving_on", "factoring_on",
        "collecting_in", "saying_on", "hopping_lines", "hopping_sums", "hopping_mixed",
    )  # fmt: skip
    found = dict.fromkeys(("serving", "planning", "sorting", "element"), channels)
    of_units = "handing_said", "returning", "scoring", "handing", "weighing", "mixing"
    found |= dict.fromkeys(of_units, units)
    return found | {"joining": 2 * units} | dict.fromkeys(ends, regions)


COMMON = tuple(
    f"{side}_{name}"
    for side in ("near", "over")
    for name in ("sent", "asked", "given", "exponents", "said", "lines", "sums", "mixed")
)
"""The streams at both ends of what stands between the middle and a border."""
BEHIND = {
    "spreading": ("sent hops", "spreading on"),
    "gathering": ("gathering in", "sums hops"),
    "embedding": ("lining in", "lines hops"),
    "dealing": ("given hops", "dealing on"),
    "collecting": ("collecting in", "mixed hops"),
    "saying": ("said hops", "saying on"),
}
"""By a stage in the middle, what a word passes beside it."""


def delays(z: Sizes, loops: Loops) -> dict[str, float]:
    """Cycles that a word takes longer beside each stage in the middle, by the stage's name."""
    if not z.wide.regions:
        return {}
    stages = stages_over_borders(z)
    return {
        name: sum(stages[over].stage.delay(loops) + 1 for over in passed)
        for name, passed in BEHIND.items()
    }


def _per_region(z: Sizes, spans: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    return tuple(end - first for first, end in spans)


def _pipelined(z: Sizes, *loops: str) -> Callable[[Any], None]:
    """What pipelines loops of the processes of all regions."""

    def also(s: Any) -> None:
        for loop in loops:
            process, inner = loop.split(":")
            for r in range(len(z.wide.regions)):
                s.pipeline(f"{process}_{r}:{inner}")

    return also


def _hops(z: Sizes, name: str, kind: Any, words: tuple[int, ...]) -> Placed:
    """Between the middle and each region: what is put over the border is in a register before."""
    R, KIND, WORDS = len(z.wide.regions), kind, words

    @df.part()
    def part(near: Stream[KIND, HOP][R], over: Stream[KIND, HOP][R]):
        @df.kernel(mapping=[R])
        def hopping():
            r = df.get_pid()
            held: KIND = 0
            is_held: UInt(1) = 0
            for word in range(WORDS[r]):
                if is_held == 1:
                    over[r].put(held)
                held = near[r].get()
                is_held = 1
            over[r].put(held)

    # Hops of one width are one function, which has the name of one of them.
    stage = Stage(part, also=_pipelined(z, f"hopping_{name}:word"), delay=lambda loops: KEPT)
    return Placed(stage, (name,), {"near": f"near_{name}", "over": f"over_{name}"})


def _spread_words(z: Sizes) -> int:
    """Words of activations of a token."""
    elements = z.layers * (2 * z.d + z.inner + z.ffn) + (z.d if z.outputs else 0)
    return elements // z.wide.activations


def _spreading(z: Sizes) -> Stage:
    """Gives each element of a region every word of activations."""
    C, R, REGION = z.wide.channels, len(z.wide.regions), z.wide.region_of()
    BITS, DEPTH = 8 * z.wide.activations + z.more, z.ffn // z.wide.activations
    WORDS = _spread_words(z)

    @df.part()
    def part(over_sent: Stream[UInt(BITS), HOP][R], inputs: Stream[UInt(BITS), DEPTH][C]):
        @df.kernel(mapping=[R])
        def spreading_on():
            r = df.get_pid()
            for word in range(WORDS):
                one: UInt(BITS) = over_sent[r].get()
                with allo.meta_for(C) as c:  # noqa: SIM117
                    with allo.meta_if(REGION[c] == r):
                        inputs[c].put(one)

    return Stage(
        part,
        also=_pipelined(z, "spreading_on:word"),
        delay=lambda loops: loops.depth("spreading_on_0", "word"),
    )


def _gathering(z: Sizes) -> Stage:
    """Joins the sums of a region's elements."""
    C, R, REGION, SPANS = z.wide.channels, len(z.wide.regions), z.wide.region_of(), z.wide.spans()
    BITS, WORDS = 32 * max(z.wide.regions), z.sums // z.wide.channels

    @df.part()
    def part(sums: Stream[int32, 4][C], near_sums: Stream[UInt(BITS), HOP][R]):
        @df.kernel(mapping=[R])
        def gathering_in():
            r = df.get_pid()
            for word in range(WORDS):
                joined: UInt(BITS) = 0
                with allo.meta_for(C) as c:  # noqa: SIM117
                    with allo.meta_if(REGION[c] == r):
                        joined[32 * (c - SPANS[r][0]) : 32 * (c - SPANS[r][0]) + 32] = sums[c].get()
                near_sums[r].put(joined)

    return Stage(
        part,
        also=_pipelined(z, "gathering_in:word"),
        delay=lambda loops: loops.depth("gathering_in_0", "word"),
    )


def _lining(z: Sizes) -> Stage:
    """Takes a line of tables of each channel of a region in turn."""
    C, R, REGION, SPANS = z.wide.channels, len(z.wide.regions), z.wide.region_of(), z.wide.spans()
    BITS, DEPTH, LINES = 8 * z.wide.lanes, table_lines_ahead(z), all_table_lines(z)

    @df.part()
    def part(table_lines: Stream[UInt(BITS), DEPTH][C], near_lines: Stream[UInt(BITS), HOP][R]):
        @df.kernel(mapping=[R])
        def lining_in():
            r = df.get_pid()
            # One bit for each turn: no comparison stands in front of the lines that are taken.
            turn: UInt(C) = 1
            for line in range(LINES * (SPANS[r][1] - SPANS[r][0])):
                one: UInt(BITS) = 0
                with allo.meta_for(C) as c:  # noqa: SIM117
                    with allo.meta_if(REGION[c] == r):
                        if turn[c - SPANS[r][0] : c - SPANS[r][0] + 1] == 1:
                            one = table_lines[c].get()
                near_lines[r].put(one)
                last: UInt(1) = turn[SPANS[r][1] - SPANS[r][0] - 1 : SPANS[r][1] - SPANS[r][0]]
                turn = (turn << 1) | last

    return Stage(
        part,
        also=_pipelined(z, "lining_in:line"),
        delay=lambda loops: loops.depth("lining_in_0", "line"),
    )


def _dealing(z: Sizes) -> Stage:
    """Gives the units of a region the queries, keys and values of their heads."""
    U, HD, PER, G, LAYERS = z.wide.heads, z.model.head_dim, z.per_unit, z.group, z.layers
    R, REGION, SPANS = (
        len(z.wide.regions), z.wide.region_of(z.wide.across), z.wide.unit_spans,
    )  # fmt: skip

    @df.part()
    def part(
        over_asked: Stream[UInt(8 * HD), HOP][R], over_given: Stream[UInt(8 * HD), HOP][R],
        asked: Stream[UInt(8 * HD), 4][U], given: Stream[UInt(8 * HD), 4][U],
    ):  # fmt: skip
        @df.kernel(mapping=[R])
        def asking_on():
            r = df.get_pid()
            for turn in range(2 * LAYERS):
                unit: UInt(8) = SPANS[r][0]
                share: UInt(8) = 0
                last: UInt(8) = G - 1 if turn % 2 == 0 else 0
                count: int32 = PER * (SPANS[r][1] - SPANS[r][0]) * (G if turn % 2 == 0 else 1)
                for head in range(count):
                    word: UInt(8 * HD) = over_asked[r].get()
                    with allo.meta_for(U) as u:  # noqa: SIM117
                        with allo.meta_if(REGION[u] == r):
                            if unit == u:
                                asked[u].put(word)
                    following: UInt(8) = SPANS[r][0] if unit == SPANS[r][1] - 1 else unit + 1
                    unit = following if share == last else unit
                    share = 0 if share == last else share + 1

        @df.kernel(mapping=[R])
        def giving_on():
            r = df.get_pid()
            unit: UInt(8) = SPANS[r][0]
            for head in range(LAYERS * PER * (SPANS[r][1] - SPANS[r][0])):
                word: UInt(8 * HD) = over_given[r].get()
                with allo.meta_for(U) as u:  # noqa: SIM117
                    with allo.meta_if(REGION[u] == r):
                        if unit == u:
                            given[u].put(word)
                unit = SPANS[r][0] if unit == SPANS[r][1] - 1 else unit + 1

    return Stage(
        part,
        also=_pipelined(z, "asking_on:head", "giving_on:head"),
        delay=lambda loops: loops.depth("giving_on_0", "head"),
    )


def _drained_words(z: Sizes) -> int:
    """Words of V sums that a unit gives of a head."""
    return z.group * z.model.head_dim // z.wide.vector


def _collecting(z: Sizes) -> Stage:
    """Takes the sums of a region's units in their order, a word with the weights' totals beside it."""
    U, R, V, G = z.wide.heads, len(z.wide.regions), z.wide.vector, z.group
    SUMS, TOTALS, WORDS, OUT = 32 * V, 32 * G, _drained_words(z), drained(z)
    REGION, SPANS, TURNS = (
        z.wide.region_of(z.wide.across), z.wide.unit_spans, z.layers * z.per_unit,
    )  # fmt: skip

    @df.part()
    def part(
        mixed: Stream[UInt(SUMS), OUT][U], totals: Stream[UInt(TOTALS), 2][U],
        near_mixed: Stream[UInt(SUMS + TOTALS), HOP][R],
    ):  # fmt: skip
        @df.kernel(mapping=[R])
        def collecting_in():
            r = df.get_pid()
            for turn in range(TURNS):
                for unit in range(SPANS[r][1] - SPANS[r][0]):
                    for piece in range(WORDS):
                        sums: UInt(SUMS) = 0
                        total: UInt(TOTALS) = 0
                        with allo.meta_for(U) as u:  # noqa: SIM117
                            with allo.meta_if(REGION[u] == r):
                                if unit == u - SPANS[r][0]:
                                    sums = mixed[u].get()
                                if unit == u - SPANS[r][0] and piece == 0:
                                    total = totals[u].get()
                        both: UInt(SUMS + TOTALS) = sums
                        both[SUMS : SUMS + TOTALS] = total
                        near_mixed[r].put(both)

    return Stage(
        part,
        also=_pipelined(z, "collecting_in:piece"),
        delay=lambda loops: loops.depth("collecting_in_0", "piece"),
    )


def _factoring(z: Sizes) -> Stage:
    """Gives the units of a region the factors of their exponents."""
    U, R, REGION, LAYERS = (
        z.wide.heads, len(z.wide.regions), z.wide.region_of(z.wide.across), z.layers,
    )  # fmt: skip

    @df.part()
    def part(over_exponents: Stream[float32, HOP][R], exponents: Stream[float32, 2][U]):
        @df.kernel(mapping=[R])
        def factoring_on():
            r = df.get_pid()
            for layer in range(LAYERS):
                one: float32 = over_exponents[r].get()
                with allo.meta_for(U) as u:  # noqa: SIM117
                    with allo.meta_if(REGION[u] == r):
                        exponents[u].put(one)

    return Stage(part)


def _saying(z: Sizes) -> Stage:
    """Gives the units of a region the lines of logits of their channels."""
    U, R, PER, SPANS = (
        z.wide.heads, len(z.wide.regions), z.wide.across, z.wide.spans(),
    )  # fmt: skip
    REGION, BITS, HELD = z.wide.region_of(PER), 8 * z.wide.lanes, lines_of(z.model, z.wide).said
    DEPTH = said_ahead(z)

    @df.part()
    def part(over_said: Stream[UInt(BITS), HOP][R], said_lines: Stream[UInt(BITS), DEPTH][U]):
        @df.kernel(mapping=[R])
        def saying_on():
            r = df.get_pid()
            held: UInt(BITS) = 0
            is_held: UInt(1) = 0
            unit: UInt(8) = SPANS[r][0] // PER
            following: UInt(8) = SPANS[r][0] // PER
            place: UInt(8) = 0
            for line in range(HELD * (SPANS[r][1] - SPANS[r][0])):
                with allo.meta_for(U) as u:  # noqa: SIM117
                    with allo.meta_if(REGION[u] == r):
                        if is_held == 1 and unit == u:
                            said_lines[u].put(held)
                held = over_said[r].get()
                is_held = 1
                unit = following
                if place == PER - 1:
                    following = (
                        SPANS[r][0] // PER if following == SPANS[r][1] // PER - 1 else following + 1
                    )
                place = 0 if place == PER - 1 else place + 1
            said_lines[SPANS[r][1] // PER - 1].put(held)

    return Stage(
        part,
        also=_pipelined(z, "saying_on:line"),
        delay=lambda loops: loops.depth("saying_on_0", "line"),
    )
