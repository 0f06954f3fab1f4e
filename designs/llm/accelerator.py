# ruff: noqa: B007  (streams are declared by annotation and loops named, as the language has it)
"""The spatial transformer: four processes joined by streams, layers iterated over one block.

``loader``  streams every weight of the model from external memory, once a step.
``linear``  one array of ``lanes`` int8 multipliers; works off the jobs of ``layout.jobs_of``.
            A word of weights read for the first query of a block is kept for the others.
``rescale`` takes the sums apart and applies each output's factor and bias in float32.
``vector``  the rest: embedding, layer norms, softmax, GELU, residuals in float32, requantisation;
            attention on int8 with one key a cycle; logits.

A step takes ``count`` tokens at positions ``start`` … ``start + count - 1``: prefill with a block
of the prompt, decode with one token. The KV cache lives in two arrays that stay between steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import allo
import allo.dataflow as df
from allo.ir.types import Stream, UInt, float32, int8, int32, uint8

from .config import GPTConfig
from .layout import check_lanes, jobs_of

GELU_C, GELU_A = 0.7978845608, 0.044715
ROUND = 12582912.0
"""Adding and subtracting 1.5 * 2**23 rounds a small float32 to the nearest even integer."""
EPS = 1e-5


def make_region(config: GPTConfig, lanes: int, block: int, prefetch: int) -> Any:
    """The accelerator as a dataflow region.

    Args:
        lanes: multipliers of the linear engine; divides every layer's outputs.
        block: most tokens of one step.
        prefetch: words the weight FIFO holds.
    """
    check_lanes(config, lanes)
    LAYERS, D, HEADS, HD = config.layers, config.d, config.heads, config.head_dim
    FFN, CTX, VOCAB = config.ffn, config.context, config.vocab
    P, BLOCK, PREFETCH = lanes, block, prefetch
    jobs = jobs_of(config)
    JOBS = len(jobs)
    job_depth = np.array([j.depth for j in jobs], np.int32)
    job_tiles = np.array([j.outputs // lanes for j in jobs], np.int32)
    KMAX = int(job_depth.max())
    WORDS = int((job_depth * job_tiles).sum())
    OUTPUTS = sum(j.outputs for j in jobs)
    NORMS = 2 * LAYERS + 1
    INV_D = 1.0 / D

    def norm(
        x: float32[BLOCK, D],
        delta: float32[BLOCK, D],
        gains: float32[NORMS, D],
        shifts: float32[NORMS, D],
        which: int32,
        rows: int32,
        small: int8[BLOCK, KMAX],
    ):
        # x += delta, then layer norm and quantisation into small.
        for b in range(rows, name="rows"):
            part: float32[8] = 0.0
            for r in range(D // 8, name="total"):
                for lane in range(8):
                    value: float32 = x[b, r * 8 + lane] + delta[b, r * 8 + lane]
                    x[b, r * 8 + lane] = value
                    part[lane] = part[lane] + value
            left: float32 = (part[0] + part[1]) + (part[2] + part[3])
            right: float32 = (part[4] + part[5]) + (part[6] + part[7])
            mean: float32 = (left + right) * INV_D
            square: float32[8] = 0.0
            for r in range(D // 8, name="spread"):
                for lane in range(8):
                    away: float32 = x[b, r * 8 + lane] - mean
                    square[lane] = square[lane] + away * away
            low: float32 = (square[0] + square[1]) + (square[2] + square[3])
            high: float32 = (square[4] + square[5]) + (square[6] + square[7])
            variance: float32 = (low + high) * INV_D
            rstd: float32 = 1.0 / allo.sqrt(variance + EPS)
            for j in range(D, name="scale"):
                unit: float32 = (x[b, j] - mean) * rstd
                wide: float32 = unit * gains[which, j] + shifts[which, j]
                clamped: float32 = min(max(wide, -127.0), 127.0)
                rounded: float32 = (clamped + ROUND) - ROUND
                small[b, j] = rounded

    def attend(
        queries: int8[BLOCK, HEADS, HD],
        keys: int8[LAYERS, HEADS, CTX, HD],
        values: int8[LAYERS, HEADS, CTX, HD],
        factors: float32[LAYERS, 3],
        layer: int32,
        start: int32,
        rows: int32,
        small: int8[BLOCK, KMAX],
    ):
        # Every query of the block against the cache: small = softmax(q k) v, as int8.
        scores: int32[HEADS, CTX]
        levels: uint8[HEADS, CTX]
        peak: int32[HEADS]
        total: int32[HEADS]
        context: int32[HEADS, HD]
        inverse: float32[HEADS]
        for b in range(rows, name="queries"):
            last: int32 = start + b
            h: int32 = 0
            j: int32 = 0
            best: int32 = 0
            for i in range((last + 1) * HEADS, name="score"):
                dot: int32 = 0
                for c in range(HD, name="score_lane"):
                    dot = dot + queries[b, h, c] * keys[layer, h, j, c]
                scores[h, j] = dot
                best = dot if j == 0 else max(best, dot)
                peak[h] = best
                if j == last:
                    j = 0
                    h = h + 1
                else:
                    j = j + 1
            he: int32 = 0
            je: int32 = 0
            sum: int32 = 0
            for i in range((last + 1) * HEADS, name="weigh"):
                below: float32 = scores[he, je] - peak[he]
                weight: float32 = allo.exp(below * factors[layer, 0])
                level: int32 = (weight * 255.0 + ROUND) - ROUND
                levels[he, je] = level
                sum = level if je == 0 else sum + level
                total[he] = sum
                if je == last:
                    je = 0
                    he = he + 1
                else:
                    je = je + 1
            hv: int32 = 0
            jv: int32 = 0
            acc: int32[HD] = 0
            for i in range((last + 1) * HEADS, name="mix"):
                share: int32 = levels[hv, jv]
                for c in range(HD, name="mix_lane"):
                    before: int32 = 0 if jv == 0 else acc[c]
                    after: int32 = before + share * values[layer, hv, jv, c]
                    acc[c] = after
                    context[hv, c] = after
                if jv == last:
                    jv = 0
                    hv = hv + 1
                else:
                    jv = jv + 1
            for head in range(HEADS, name="invert"):
                count: float32 = total[head]
                inverse[head] = factors[layer, 1] / count
            for head in range(HEADS, name="output"):
                for c in range(HD):
                    mixed: float32 = context[head, c]
                    wide: float32 = mixed * inverse[head]
                    clamped: float32 = min(max(wide, -127.0), 127.0)
                    rounded: float32 = (clamped + ROUND) - ROUND
                    small[b, head * HD + c] = rounded

    @df.region()
    def gpt_step(
        count: int32,
        start: int32,
        tokens: int32[BLOCK],
        weights: UInt(8 * P)[WORDS],
        token_table: float32[VOCAB, D],
        position_table: float32[CTX, D],
        scales: float32[OUTPUTS],
        biases: float32[OUTPUTS],
        gains: float32[NORMS, D],
        shifts: float32[NORMS, D],
        factors: float32[LAYERS, 3],
        keys: int8[LAYERS, HEADS, CTX, HD],
        values: int8[LAYERS, HEADS, CTX, HD],
        logits: float32[BLOCK, VOCAB],
    ):
        words: Stream[UInt(8 * P), PREFETCH]
        inputs: Stream[int8, 16]
        sums: Stream[UInt(32 * P), 4]
        results: Stream[float32, 16]

        @df.kernel(mapping=[1], args=[weights])
        def loader(memory: UInt(8 * P)[WORDS]):
            for i in range(WORDS, name="load"):
                word: UInt(8 * P) = memory[i]
                words.put(word)

        @df.kernel(mapping=[1])
        def linear():
            depths: int32[JOBS] = job_depth
            tiles: int32[JOBS] = job_tiles
            x: int8[BLOCK * KMAX]
            held: UInt(8 * P)[KMAX]
            acc: int32[P] = 0
            for job in range(JOBS, name="jobs"):
                depth: int32 = depths[job]
                row: int32 = 0
                col: int32 = 0
                for i in range(count * depth, name="fill"):
                    value: int8 = inputs.get()
                    x[row + col] = value
                    if col == depth - 1:
                        col = 0
                        row = row + KMAX
                    else:
                        col = col + 1
                k: int32 = 0
                b: int32 = 0
                for i in range(tiles[job] * count * depth, name="mac"):
                    word: UInt(8 * P) = 0
                    if b == 0:
                        word = words.get()
                        held[k] = word
                    else:
                        word = held[k]
                    xv: int8 = x[b * KMAX + k]
                    out: UInt(32 * P) = 0
                    for p in range(P, name="lane"):
                        weight: int8 = word[8 * p : 8 * p + 8]
                        before: int32 = 0 if k == 0 else acc[p]
                        after: int32 = before + xv * weight
                        acc[p] = after
                        out[32 * p : 32 * p + 32] = after
                    if k == depth - 1:
                        sums.put(out)
                        k = 0
                        if b == count - 1:
                            b = 0
                        else:
                            b = b + 1
                    else:
                        k = k + 1

        @df.kernel(mapping=[1], args=[scales, biases])
        def rescale(scale: float32[OUTPUTS], bias: float32[OUTPUTS]):
            word: UInt(32 * P) = 0
            for t in range(OUTPUTS // P, name="tiles"):
                for b in range(count):
                    for lane in range(P):
                        if lane == 0:
                            word = sums.get()
                        else:
                            word = word >> 32
                        acc: int32 = word[0:32]
                        wide: float32 = acc
                        value: float32 = wide * scale[t * P + lane] + bias[t * P + lane]
                        results.put(value)

        @df.kernel(
            mapping=[1],
            args=[
                tokens, token_table, position_table, gains, shifts, factors, keys, values, logits,
            ],
        )  # fmt: skip
        def vector(
            ids: int32[BLOCK],
            token_rows: float32[VOCAB, D],
            position_rows: float32[CTX, D],
            gain: float32[NORMS, D],
            shift: float32[NORMS, D],
            factor: float32[LAYERS, 3],
            key_cache: int8[LAYERS, HEADS, CTX, HD],
            value_cache: int8[LAYERS, HEADS, CTX, HD],
            out: float32[BLOCK, VOCAB],
        ):
            x: float32[BLOCK, D]
            delta: float32[BLOCK, D]
            small: int8[BLOCK, KMAX]
            queries: int8[BLOCK, HEADS, HD]
            for b in range(count, name="embed"):
                token: int32 = ids[b]
                for j in range(D):
                    x[b, j] = token_rows[token, j]
                    delta[b, j] = position_rows[start + b, j]
            for layer in range(LAYERS, name="layers"):
                norm(x, delta, gain, shift, layer * 2, count, small)
                for b in range(count, name="send_qkv"):
                    for j in range(D):
                        narrow: int8 = small[b, j]
                        inputs.put(narrow)
                for t in range(3 * D // P, name="take_qkv"):
                    for b in range(count):
                        for lane in range(P):
                            wide: float32 = results.get()
                            clamped: float32 = min(max(wide, -127.0), 127.0)
                            value: int8 = (clamped + ROUND) - ROUND
                            n: int32 = t * P + lane
                            head: int32 = (n % D) // HD
                            if n < D:
                                queries[b, head, n % HD] = value
                            elif n < 2 * D:
                                key_cache[layer, head, start + b, n % HD] = value
                            else:
                                value_cache[layer, head, start + b, n % HD] = value

                attend(queries, key_cache, value_cache, factor, layer, start, count, small)
                for b in range(count, name="send_p"):
                    for j in range(D):
                        narrow: int8 = small[b, j]
                        inputs.put(narrow)
                for t in range(D // P, name="take_p"):
                    for b in range(count):
                        for lane in range(P):
                            delta[b, t * P + lane] = results.get()

                norm(x, delta, gain, shift, layer * 2 + 1, count, small)
                for b in range(count, name="send_f1"):
                    for j in range(D):
                        narrow: int8 = small[b, j]
                        inputs.put(narrow)
                for t in range(FFN // P, name="gelu"):
                    for b in range(count):
                        for lane in range(P):
                            a: float32 = results.get()
                            cube: float32 = (a * a) * a
                            inner: float32 = (a + cube * GELU_A) * GELU_C
                            bent: float32 = (0.5 * a) * (1.0 + allo.tanh(inner))
                            wide: float32 = bent * factor[layer, 2]
                            clamped: float32 = min(max(wide, -127.0), 127.0)
                            small[b, t * P + lane] = (clamped + ROUND) - ROUND
                for b in range(count, name="send_f2"):
                    for j in range(FFN):
                        narrow: int8 = small[b, j]
                        inputs.put(narrow)
                for t in range(D // P, name="take_f2"):
                    for b in range(count):
                        for lane in range(P):
                            delta[b, t * P + lane] = results.get()

            norm(x, delta, gain, shift, 2 * LAYERS, count, small)
            for b in range(count, name="send_head"):
                for j in range(D):
                    narrow: int8 = small[b, j]
                    inputs.put(narrow)
            for t in range(VOCAB // P, name="take_logits"):
                for b in range(count):
                    for lane in range(P):
                        out[b, t * P + lane] = results.get()

    return gpt_step
