# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""Tables that come with the weights: rows of V numbers, dealt to the processes that use them."""

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, float32, int32

from ...stage import Kernel, Loops, Stage, pipelined
from ..families.model import position_row
from ..stages.linear import HOP
from ..stages.sizes import Sizes
from .lines import FACTORS, lines_of, per_line

AHEAD = 64
"""Lines of tables of a channel that may wait, at least: more than those of a layer of GPT-2 355M."""


def deal_rows[BITS, V, ROUND, D, PLACE, LAYERS, NORM, SUM, QKV, UP, OUTPUTS](
    lines: "Stream[UInt(BITS), 2]",
    angles: "Stream[UInt(32 * V), 4]",
    rows: "Stream[UInt(32 * V), 4]",
    factors: "Stream[UInt(32), 2]",
    gains: "Stream[UInt(32 * NORM * V), 4]",
    affines: "Stream[UInt(32 * SUM * V), 4]",
):
    """A row of V numbers a cycle, in the order of :mod:`.lines`; ``ROUND`` rows fill a line of all channels.

    ``PLACE`` rows of a position come first, then the token's. A word of gains has ``NORM`` rows, and one of
    factors and biases ``SUM``.
    """
    line: UInt(BITS) = 0
    at: UInt(8) = 0
    for place in range((PLACE + ROUND - 1) // ROUND * ROUND):
        line = lines.get() if at == 0 else line >> (32 * V)
        if place < PLACE:
            angles.put(line[0 : 32 * V])
        at = 0 if at == BITS // (32 * V) - 1 else at + 1
    for row in range((D // V + ROUND - 1) // ROUND * ROUND):
        line = lines.get() if at == 0 else line >> (32 * V)
        if row < D // V:
            rows.put(line[0 : 32 * V])
        at = 0 if at == BITS // (32 * V) - 1 else at + 1
    for factor in range((FACTORS * LAYERS + ROUND - 1) // ROUND * ROUND):
        line = lines.get() if at == 0 else line >> (32 * V)
        if factor < FACTORS * LAYERS:
            factors.put(line[0:32])
        at = 0 if at == BITS // (32 * V) - 1 else at + 1
    for job in range(4 * LAYERS + min(OUTPUTS, 1)):
        sums: int32 = D // V * SUM
        if job == 4 * LAYERS:
            sums = OUTPUTS // V * SUM
        elif job % 4 == 0:
            sums = QKV // V * SUM
        elif job % 4 == 2:
            sums = UP // V * SUM
        norms: int32 = D // V * NORM if job % 2 == 0 else 0
        total: int32 = (norms + sums + (ROUND - 1)) // ROUND * ROUND
        turn: UInt(8) = 0
        front: UInt(32 * V) = 0
        for part in range(total):
            line = lines.get() if at == 0 else line >> (32 * V)
            here: UInt(32 * V) = line[0 : 32 * V]
            both: UInt(64 * V) = front
            both[32 * V : 64 * V] = here
            is_gain: UInt(1) = 1 if part < norms else 0
            is_sum: UInt(1) = 1 if part >= norms and part < norms + sums else 0
            with allo.meta_if(NORM == 1):
                if is_gain == 1:
                    gains.put(here)
            with allo.meta_else():
                if is_gain == 1 and turn == 1:
                    gains.put(both)
            with allo.meta_if(SUM == 1):
                if is_sum == 1:
                    affines.put(here)
            with allo.meta_else():
                if is_sum == 1 and turn == 1:
                    affines.put(both)
            front = here
            turn = 1 - turn if part != norms - 1 else 0
            at = 0 if at == BITS // (32 * V) - 1 else at + 1


def embed[V, ROWS, PLACE](
    places: "Stream[UInt(32 * V), 4]",
    rows: "Stream[UInt(32 * V), 4]",
    embedded: "Stream[float32[V], 4]",
):
    """The token's row and that of its position, added."""
    kept: UInt(32 * V)[PLACE]
    for place in range(PLACE):
        kept[place] = places.get()
    for row in range(ROWS):
        left: UInt(32 * V) = rows.get()
        right: UInt(32 * V) = kept[row]
        block: float32[V]
        for v in range(V):
            a_bits: UInt(32) = left[32 * v : 32 * v + 32]
            b_bits: UInt(32) = right[32 * v : 32 * v + 32]
            a: float32 = a_bits.bitcast()
            b: float32 = b_bits.bitcast()
            block[v] = a + b
        embedded.put(block)


def pass_row[V, ROWS](rows: "Stream[UInt(32 * V), 4]", embedded: "Stream[float32[V], 4]"):
    """The token's row as numbers."""
    for row in range(ROWS):
        word: UInt(32 * V) = rows.get()
        block: float32[V]
        for v in range(V):
            bits: UInt(32) = word[32 * v : 32 * v + 32]
            block[v] = bits.bitcast()
        embedded.put(block)


schedule_deal_rows = pipelined("place row factor part")
schedule_embed = pipelined("place row", "block")
schedule_pass_row = pipelined("row", "block")


def table_lines_ahead(z: Sizes) -> int:
    """Lines of tables of a channel that may wait.

    Those of a job are used when its sums come, and its weights are behind them: so all of them must fit.
    """
    return max(AHEAD, *lines_of(z.model, z.wide).tables)


def lining(z: Sizes) -> Stage:
    """Takes a line of tables of each channel in turn.

    Without regions few channels are one group, whose lines have a stream of their own: who waits for all
    channels in one cycle would hold up the memories in which their lines wait.
    """
    C, B = z.wide.channels, 8 * z.wide.lanes
    LINES, SPANS, PLACED = all_table_lines(z), z.wide.spans(), bool(z.wide.regions)
    R, DEPTH = len(SPANS), HOP if PLACED else table_lines_ahead(z)
    EACH = of_group(C)
    F = C // EACH

    @df.part()
    def part(table_lines: Stream[UInt(B), DEPTH][R], lined: Stream[UInt(B), 4]):
        with allo.meta_if(PLACED):

            @df.kernel(mapping=[1])
            def lining():
                for round in range(LINES):
                    for turn in range(C):
                        one: UInt(B) = 0
                        with allo.meta_for(R) as r:
                            if turn >= SPANS[r][0] and turn < SPANS[r][1]:
                                one = table_lines[r].get()
                        lined.put(one)

        with allo.meta_else():
            groups: Stream[UInt(B), 2][F]

            @df.kernel(mapping=[F])
            def lining():
                f = df.get_pid()
                # One bit for each turn: no comparison stands in front of the lines that are taken.
                whose: UInt(EACH) = 1
                for turn in range(LINES * EACH):
                    line: UInt(B) = 0
                    with allo.meta_for(EACH) as c:
                        if whose[c : c + 1] == 1:
                            line = table_lines[f * EACH + c].get()
                    groups[f].put(line)
                    last: UInt(1) = whose[EACH - 1 : EACH]
                    whose = (whose << 1) | last

            @df.kernel(mapping=[1])
            def ordering():
                which: UInt(F) = 1
                place: UInt(8) = 0
                for line in range(LINES * C):
                    one: UInt(B) = 0
                    with allo.meta_for(F) as f:
                        if which[f : f + 1] == 1:
                            one = groups[f].get()
                    lined.put(one)
                    last: UInt(1) = which[F - 1 : F]
                    which = (which << 1) | last if place == EACH - 1 else which
                    place = 0 if place == EACH - 1 else place + 1

    def delay(loops: Loops) -> float:
        found = loops.depth("lining_0", "turn")
        return found if PLACED else found + loops.depth("ordering_0", "line")

    takes = ("lining:turn",) if PLACED else tuple(f"lining_{f}:turn" for f in range(F))
    return Stage(part, loops=takes if PLACED else (*takes, "ordering:line"), delay=delay)


def of_group(channels: int, most: int = 8) -> int:
    """Channels of a group, of which there are as few as may be that have so many at most."""
    return max(each for each in range(1, min(most, channels) + 1) if channels % each == 0)


def all_table_lines(z: Sizes) -> int:
    """Lines of tables of a channel that a token takes."""
    held = lines_of(z.model, z.wide)
    *layer, last = held.tables
    return held.place + held.token + held.factors + held.layers * sum(layer) + last


def tabling(z: Sizes) -> Stage:
    """Deals the rows of tables: what is embedded, angles, factors, gains, and factors and biases of sums."""
    B, V, ROWS, AFTER = 8 * z.wide.lanes, z.wide.vector, z.rows, z.tables_ahead
    PLACE, ROTARY, (SUM, NORM) = position_row(z.model) // V, bool(z.model.rotary), z.terms
    sizes = B, V, z.wide.channels * per_line(z.wide), z.d, PLACE, z.layers
    dealing = Kernel(deal_rows, (*sizes, NORM, SUM, z.qkv, z.up, z.outputs), schedule_deal_rows)
    adding = Kernel(embed, (V, ROWS, PLACE), schedule_embed)
    passing = Kernel(pass_row, (V, ROWS), schedule_pass_row)
    kernels = dealing, passing if ROTARY else adding
    # Where each token has a step, the first norm takes its gains, which come behind, with the token's row.
    HELD = max(4, ROWS if z.wide.block else 0)
    DEAL, ADD, PASS = dealing.template, adding.template, passing.template

    @df.part()
    def part(
        lined: Stream[UInt(B), 4], embedded: Stream[float32[V], 4], angles: Stream[UInt(32 * V), 4],
        factors: Stream[UInt(32), 4], gains: Stream[UInt(32 * NORM * V), AFTER],
        affines: Stream[UInt(32 * SUM * V), AFTER],
    ):  # fmt: skip
        rows: Stream[UInt(32 * V), HELD]

        @df.kernel(mapping=[1])
        def tabling():
            deal_rows[*DEAL](lined, angles, rows, factors, gains, affines)

        @df.kernel(mapping=[1])
        def embedding():
            with allo.meta_if(ROTARY):
                pass_row[*PASS](rows, embedded)
            with allo.meta_else():
                embed[*ADD](angles, rows, embedded)

    def delay(loops: Loops) -> float:
        depth = [loops.depth(dealing.name, name) for name in ("place", "row")]
        return sum(depth) + PLACE + ROWS + loops.depth(kernels[1].name, "row")

    return Stage(part, kernels, delay=delay)


def factoring(z: Sizes) -> Stage:
    """Gives every process the factors of its activations, of all layers before the first one."""
    LAYERS, BENDS, DEPTH = z.layers, z.wide.block == 0, HOP if z.wide.regions else 2
    FAN = len(z.wide.unit_spans)

    @df.part()
    def part(
        factors: Stream[UInt(32), 4], exponents: Stream[float32, DEPTH][FAN], attends: Stream[float32, 2],
        gelus: Stream[float32, 2],
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def factoring():
            for layer in range(LAYERS):
                exponent: UInt(32) = factors.get()
                attend: UInt(32) = factors.get()
                bend: UInt(32) = factors.get()
                with allo.meta_for(FAN) as f:
                    exponents[f].put(exponent.bitcast())
                attends.put(attend.bitcast())
                with allo.meta_if(BENDS):
                    gelus.put(bend.bitcast())

    return Stage(part)


def returning(z: Sizes) -> Stage:
    """Gives the logits, and with ``top`` the largest of them, back as lines, which units take to channels."""
    C, B, V, TOP, EVERY = (
        z.wide.channels, 8 * z.wide.lanes, z.wide.vector, z.wide.top, z.wide.all_logits,
    )  # fmt: skip
    held, R = lines_of(z.model, z.wide).said, per_line(z.wide)
    SPANS = said_spans(z)
    DEPTH, FAN = HOP if z.wide.regions else said_ahead(z), len(SPANS)
    ALL, TOTAL = (z.outputs // V if EVERY else 0), held * C * R

    @df.part()
    def part(
        said: Stream[float32[V], 4], ranked: Stream[float32[V], 4], found: Stream[UInt(64), 4],
        said_lines: Stream[UInt(B), DEPTH][FAN],
    ):  # fmt: skip
        @df.kernel(mapping=[1])
        def saying():
            line: UInt(B) = 0
            at: UInt(8) = 0
            turn: UInt(8) = 0
            for out in range(TOTAL):
                word: UInt(32 * V) = 0
                with allo.meta_if(EVERY):
                    if out < ALL:
                        block: float32[V] = said.get()
                        for v in range(V):
                            bits: UInt(32) = block[v].bitcast()
                            word[32 * v : 32 * v + 32] = bits
                        with allo.meta_if(TOP > 0):
                            ranked.put(block)
                with allo.meta_if(TOP > 0):
                    if out >= ALL and out < ALL + TOP:
                        word = found.get()
                above: UInt(B) = word
                line = (line >> (32 * V)) | (above << (B - 32 * V))
                with allo.meta_for(FAN) as f:
                    if turn >= SPANS[f][0] and turn < SPANS[f][1] and at == R - 1:
                        said_lines[f].put(line)
                following: UInt(8) = 0 if turn == C - 1 else turn + 1
                turn = following if at == R - 1 else turn
                at = 0 if at == R - 1 else at + 1

    return Stage(
        part,
        loops=("saying:out",),
        registers=("saying:block",) if EVERY else (),
        delay=lambda loops: loops.depth("saying_0", "out") + held,
    )


def said_spans(z: Sizes) -> tuple[tuple[int, int], ...]:
    """The channels whose lines of logits go one way: those of a region, or else of a unit of attention."""
    if z.wide.regions:
        return z.wide.spans()
    each = z.wide.across
    return tuple((unit * each, unit * each + each) for unit in range(z.wide.heads))


def said_ahead(z: Sizes) -> int:
    """Lines of logits that may wait for a unit's channels: all of them, as readers write them in the end."""
    return max(2, lines_of(z.model, z.wide).said * z.wide.across)
