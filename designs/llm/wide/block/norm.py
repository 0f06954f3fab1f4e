# ruff: noqa: B007  (loops have names for the schedule)
"""Residuals of all tokens of a step, turned from outputs to tokens, and units of norms.

With ``BEHIND``, as in BERT, norms stand behind the sums: a norm's result is also what the next delta is
added to, so it comes back as an embedding comes, and the last norm is of all tokens.

``collect`` adds results as they come, output group by output group, and sends the rows of a block token
by token when its last output is there. ``normalise_rows`` is one unit of norms, which takes whole tokens.
"""

import allo
from allo.customize import Schedule
from allo.ir.types import Stream, UInt, float32, int32

from ...constants import ROUND
from ...stage import pipelined


def collect[D, V, C, LAYERS, B, MOST, BEHIND, W, LOG_W, ENTERS](
    embedded: "Stream[float32[V], 4]",
    deltas: "Stream[float32[V], 4]",
    count: int32, waves: int32, spoken: int32,
    rows: "Stream[float32[W * V], 4]", layers: "UInt(8)", enters: "UInt(1)",
):  # fmt: skip
    """``x += delta`` for every job with a residual; then the rows of the block, W tokens beside each other.

    Token t lies in lane ``t % W``. Before the last norm only the last ``spoken`` tokens of the step are sent,
    the first of them in the first lane. With ``BEHIND``, which has one lane, all are, and what other norms
    make of a block's rows comes back on ``embedded``. With ``ENTERS`` one more delta comes, before any norm.
    Where ``LAYERS`` is 0, the call says how many layers there are, and whether that delta is.
    """
    x: float32[W, ((MOST + W - 1) // W + min(LOG_W, 1)) * (D // V), V]
    last_wave: UInt(8) = waves - 1
    for norm in range(
        0 - (ENTERS if LAYERS > 0 else enters), 2 * (LAYERS if LAYERS > 0 else layers) + 1
    ):
        base: int32 = 0
        left: int32 = count
        for wave in range(last_wave + 1):
            last: UInt(8) = min(left, B) - 1
            left = left - B
            total: UInt(24) = (last + 1) * (D // V)
            across: UInt(24) = ((last >> LOG_W) + 1) * (D // V)
            lane: UInt(8) = 0
            piece: UInt(16) = 0
            at: UInt(16) = base
            if norm == 0 - (ENTERS if LAYERS > 0 else enters):
                for take in range(total):
                    first: float32[V] = embedded.get()
                    for e in range(V):
                        x[lane, at, e] = first[e]
                    ends: UInt(1) = 1 if piece == D // V - 1 else 0
                    at = at - (D // V - 1) if ends == 1 and lane != W - 1 else at + 1
                    lane = lane if ends == 0 else 0 if lane == W - 1 else lane + 1
                    piece = 0 if ends == 1 else piece + 1
            else:
                token: UInt(8) = 0
                group: UInt(16) = base
                for plus in range(total):
                    delta: float32[V] = deltas.get()
                    for v in range(V):
                        x[lane, at + piece, v] = x[lane, at + piece, v] + delta[v]
                    if piece == C // V - 1:
                        beside: UInt(16) = at + D // V if lane == W - 1 else at
                        at = group + C // V if token == last else beside
                        group = group + C // V if token == last else group
                        lane = 0 if token == last or lane == W - 1 else lane + 1
                        token = 0 if token == last else token + 1
                    piece = 0 if piece == C // V - 1 else piece + 1
            sent: int32 = base
            size: int32 = 0 if norm < 0 else across
            begin: UInt(8) = 0
            with allo.meta_if(BEHIND == 0):
                if norm == 2 * (LAYERS if LAYERS > 0 else layers):
                    before: int32 = count - spoken
                    begin = before & (W - 1)
                    sent = (before >> LOG_W) * (D // V)
                    size = (((spoken - 1) >> LOG_W) + 1) * (D // V) if wave == last_wave else 0
            for row in range(size):
                out: float32[W * V]
                moved: float32[W * V]
                with allo.meta_for(W) as own:
                    behind: int32 = D // V if begin > own else 0  # of the next row of tokens
                    for w in range(V):
                        out[own * V + w] = x[own, sent + row + behind, w]
                with allo.meta_for(LOG_W) as by:
                    for m in range(W * V):
                        moved[m] = out[(m + (V << by)) % (W * V)] if begin[by] == 1 else out[m]
                    for k in range(W * V):
                        out[k] = moved[k]
                rows.put(out)
            with allo.meta_if(BEHIND == 1):
                returned: int32 = 0 if norm == 2 * (LAYERS if LAYERS > 0 else layers) else total
                for again in range(returned):
                    new: float32[V] = embedded.get()
                    for n in range(V):
                        x[0, base + again, n] = new[n]
            base += across


def normalise_rows[D, V, LOG_V, PARTS, LOG_PARTS, LAYERS, B, UNITS, TERMS](
    rows: "Stream[float32[V], 4]",
    tables: "Stream[UInt(32 * TERMS * V), 4]",
    unit: int32,
    count: int32,
    waves: int32,
    spoken: int32,
    eps: float32,
    small: "Stream[UInt((8 + 32 * (TERMS // 3)) * V), 4]",
):
    """Tokens ``unit``, ``unit + UNITS`` … of every block, normed and quantised.

    The sums are those of :func:`..norm.normalise`, in its order, and so are the ``TERMS`` of an element: with
    one, these are norms by the root mean square. A norm's table is taken once for all tokens of a step. With
    three, a norm stands behind the sums: float32 results stand above those times a step and quantised.
    """
    x: float32[D // V, V]
    gains: UInt(32 * TERMS * V)[D // V]
    for n in range(2 * LAYERS + 1):
        for fill in range(D // V):
            gains[fill] = tables.get()
        last_pass: UInt(8) = 0 if n == 2 * LAYERS + TERMS // 3 else waves - 1
        left: int32 = spoken if n == 2 * LAYERS + TERMS // 3 else count
        for wave in range(last_pass + 1):
            mine: int32 = (min(left, B) + (UNITS - 1) - unit) // UNITS
            left = left - B
            for token in range(mine):
                part: float32[PARTS] = 0.0
                square: float32[PARTS] = 0.0
                for rt in range(D // V // PARTS):
                    for lt in range(PARTS):
                        node: float32[V]
                        power: float32[V]
                        got: float32[V] = rows.get()
                        for u in range(V):
                            x[rt * PARTS + lt, u] = got[u]
                            node[u] = got[u]
                            power[u] = got[u] * got[u]
                        with allo.meta_for(LOG_V) as level:  # noqa: SIM117
                            with allo.meta_for(V >> (level + 1)) as i:
                                power[i] = power[2 * i] + power[2 * i + 1]
                                with allo.meta_if(TERMS > 1):
                                    node[i] = node[2 * i] + node[2 * i + 1]
                        with allo.meta_if(TERMS > 1):
                            part[lt] = part[lt] + node[0]
                        square[lt] = square[lt] + power[0]
                with allo.meta_for(LOG_PARTS) as level:  # noqa: SIM117
                    with allo.meta_for(PARTS >> (level + 1)) as i:
                        square[i] = square[2 * i] + square[2 * i + 1]
                        with allo.meta_if(TERMS > 1):
                            part[i] = part[2 * i] + part[2 * i + 1]
                mean: float32 = part[0] * (1.0 / D)
                variance: float32 = square[0] * (1.0 / D)
                with allo.meta_if(TERMS > 1):
                    variance = max(variance - mean * mean, 0.0)
                rstd: float32 = allo.rsqrt(variance + eps)
                for row in range(D // V):
                    table: UInt(32 * TERMS * V) = gains[row]
                    packed: UInt((8 + 32 * (TERMS // 3)) * V) = 0
                    for e in range(V):
                        gain_bits: UInt(32) = table[32 * TERMS * e : 32 * TERMS * e + 32]
                        gain: float32 = gain_bits.bitcast()
                        wide: float32 = x[row, e]
                        with allo.meta_if(TERMS > 1):
                            shift_bits: UInt(32) = table[32 * TERMS * e + 32 : 32 * TERMS * e + 64]
                            shift: float32 = shift_bits.bitcast()
                            wide = ((wide - mean) * rstd) * gain + shift
                        with allo.meta_else():
                            wide = (wide * rstd) * gain
                        with allo.meta_if(TERMS == 3):
                            result: UInt(32) = wide.bitcast()
                            packed[8 * V + 32 * e : 8 * V + 32 * e + 32] = result
                            step_bits: UInt(32) = table[96 * e + 64 : 96 * e + 96]
                            step: float32 = step_bits.bitcast()
                            wide = wide * step
                        clamped: float32 = min(max(wide, -127.0), 127.0)
                        shifted: float32 = clamped + ROUND
                        bits: UInt(32) = shifted.bitcast()
                        packed[8 * e : 8 * e + 8] = bits[0:8]
                    small.put(packed)


def schedule_collect(s: Schedule, behind: bool = False) -> Schedule:
    """V elements a cycle, of the rows of a block those of every lane.

    Args:
        behind: whether norms stand behind the sums.
    """
    if behind:
        pipelined("again", "new")(s)
    # An element comes again with the next residual, which is another run of the loop.
    s.dependence("x", "plus")
    s.partition(f"{s.top_func_name}:x", dim=1)
    return pipelined("take plus row", "first delta out moved", x=3)(s)


schedule_normalise_rows = pipelined("fill lt row", "node power got part square", x=2)
