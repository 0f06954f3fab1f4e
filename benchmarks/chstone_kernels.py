"""Kernels of the kind that CHStone has, written from the algorithms: integers and control of C programs."""

from __future__ import annotations

from math import cos, pi, sqrt

import numpy as np

from allo.customize import Schedule
from allo.ir.types import UInt, int16, int32, int64, uint1, uint6, uint8, uint32, uint64
from benchmarks.kernels import pipelined

BLOCKS, WORDS, STEPS, SAMPLES, LAGS, CODES = 4, 16, 80, 160, 9, 32
waves = np.array(
    [[round(8192 * sqrt(2) * cos((2 * n + 1) * k * pi / 16)) for k in range(8)] for n in range(8)],
    np.int32,
)


def turned(x: uint32, by: uint32) -> uint32:
    """``x`` rotated left by ``by`` bits, from 1 to 31."""
    return (x << by) | (x >> (32 - by))


def sha(message: uint32[BLOCKS, WORDS]) -> uint32[5]:
    """SHA-1 of a padded message."""
    digest: uint32[5]
    w: uint32[STEPS]
    h0: uint32 = 0x67452301
    h1: uint32 = 0xEFCDAB89
    h2: uint32 = 0x98BADCFE
    h3: uint32 = 0x10325476
    h4: uint32 = 0xC3D2E1F0
    for block in range(BLOCKS):
        for i in range(WORDS):
            w[i] = message[block, i]
        for j in range(WORDS, STEPS):
            w[j] = turned(w[j - 3] ^ w[j - 8] ^ w[j - 14] ^ w[j - 16], 1)
        a: uint32 = h0
        b: uint32 = h1
        c: uint32 = h2
        d: uint32 = h3
        e: uint32 = h4
        for t in range(STEPS):
            f: uint32 = b ^ c ^ d
            k: uint32 = 0xCA62C1D6
            if t < 20:
                f = (b & c) | (~b & d)
                k = 0x5A827999
            elif t < 40:
                k = 0x6ED9EBA1
            elif t < 60:
                f = (b & c) | (b & d) | (c & d)
                k = 0x8F1BBCDC
            new: uint32 = turned(a, 5) + f + e + k + w[t]
            e = d
            d = c
            c = turned(b, 30)
            b = a
            a = new
        h0 += a
        h1 += b
        h2 += c
        h3 += d
        h4 += e
    digest[0] = h0
    digest[1] = h1
    digest[2] = h2
    digest[3] = h3
    digest[4] = h4
    return digest


def blowfish(p: uint32[18], s: uint32[4, 256], text: uint32[2 * WORDS]):
    """Blowfish, sixteen rounds a block of two words, with the keys already made."""
    for n in range(WORDS):
        left: uint32 = text[2 * n]
        right: uint32 = text[2 * n + 1]
        for r in range(16):
            left = left ^ p[r]
            mixed: uint32 = s[0, left >> 24] + s[1, (left >> 16) & 255]
            mixed = (mixed ^ s[2, (left >> 8) & 255]) + s[3, left & 255]
            other: uint32 = right ^ mixed
            right = left
            left = other
        text[2 * n] = right ^ p[17]
        text[2 * n + 1] = left ^ p[16]


def mips(program: uint32[64], data: int32[64]) -> int32:
    """A processor of sixteen instructions of MIPS, one after the other, until a jump to 0; how many ran."""
    registers: int32[32] = 0
    hi: int32 = 0
    lo: int32 = 0
    ran: int32 = 0
    pc: uint6 = 0
    running: uint1 = 1
    while running:
        word: uint32 = program[pc]
        op: uint32 = word >> 26
        rs: int32 = registers[(word >> 21) & 31]
        rt: int32 = registers[(word >> 16) & 31]
        amount: uint32 = (word >> 6) & 31
        funct: uint32 = word & 63
        low: int16 = word & 0xFFFF
        target: uint32 = (word >> 16) & 31
        near: int32 = rs + low
        address: uint6 = (near >> 2) & 63
        pc = pc + 1
        result: int32 = 0
        if op == 0:
            target = (word >> 11) & 31
            if funct == 0x21:
                result = rs + rt
            elif funct == 0x23:
                result = rs - rt
            elif funct == 0x18:
                product: int64 = rs * rt
                lo = product
                hi = product >> 32
                target = 0
            elif funct == 0x10:
                result = hi
            elif funct == 0x12:
                result = lo
            elif funct == 0x24:
                result = rs & rt
            elif funct == 0x25:
                result = rs | rt
            elif funct == 0x26:
                result = rs ^ rt
            elif funct == 0x00:
                result = rt << amount
            elif funct == 0x03:
                result = rt >> amount
            elif funct == 0x2A:
                result = 1 if rs < rt else 0
            elif funct == 0x08:
                pc = (rs >> 2) & 63
                target = 0
                running = rs != 0
        elif op == 0x09:
            result = near
        elif op == 0x23:
            result = data[address]
        elif op == 0x2B:
            data[address] = rt
            target = 0
        elif op == 0x04:
            target = 0
            if rs == rt:
                pc = pc + low
        elif op == 0x05:
            target = 0
            if rs != rt:
                pc = pc + low
        if target != 0:
            registers[target] = result
        ran += 1
    return ran


def gsm(samples: int16[SAMPLES], reflections: int16[LAGS - 1]):
    """Linear prediction of a frame: sums of products at nine distances, and Schur's recursion on them."""
    largest: int32 = 0
    for i in range(SAMPLES):
        value: int32 = samples[i]
        size: int32 = -value if value < 0 else value
        if size > largest:
            largest = size
    shift: int32 = 0
    for scale in range(4):
        if largest >= 1 << (11 + scale):
            shift = scale + 1
    sums: int32[LAGS] = 0
    for n in range(SAMPLES):
        for k in range(LAGS):
            if n >= k:
                now: int32 = samples[n] >> shift
                then: int32 = samples[n - k] >> shift
                sums[k] += (now * then) >> 4
    up: int32[LAGS]
    down: int32[LAGS]
    for m in range(LAGS):
        up[m] = sums[m] >> 13
        down[m] = sums[m] >> 13
    for stage in range(LAGS - 1):
        top: int32 = up[1]
        whole: int32 = down[0]
        part: int32 = -top if top < 0 else top
        ratio: int32 = 0
        if part < whole:
            ratio = (part << 15) // whole
        reflection: int32 = ratio if top < 0 else -ratio
        reflections[stage] = reflection
        for q in range(LAGS - 1):
            above: int32 = up[q + 1]
            below: int32 = down[q]
            down[q] = below + ((above * reflection + 16384) >> 15)
            up[q] = above + ((below * reflection + 16384) >> 15)


def dfadd(x: uint64[WORDS], y: uint64[WORDS], z: uint64[WORDS]):
    """Sums of normal float64 by their bits, rounded to even; what would be subnormal is 0."""
    for i in range(WORDS):
        a: uint64 = x[i]
        b: uint64 = y[i]
        if (a << 1) < (b << 1):
            a = y[i]
            b = x[i]
        exponent: int32 = (a >> 52) & 0x7FF
        distance: int32 = exponent - ((b >> 52) & 0x7FF)
        wide: uint64 = ((a & 0xFFFFFFFFFFFFF) | 0x10000000000000) << 3
        narrow: uint64 = ((b & 0xFFFFFFFFFFFFF) | 0x10000000000000) << 3
        if distance > 60:
            distance = 60
        moved: uint64 = narrow >> distance
        if (moved << distance) != narrow:
            moved = moved | 1
        total: uint64 = wide + moved
        if (a >> 63) != (b >> 63):
            total = wide - moved
        if (total >> 56) != 0:
            total = (total >> 1) | (total & 1)
            exponent += 1
        for step in range(6):
            count: int32 = 32 >> step
            if (total >> (56 - count)) == 0:
                total = total << count
                exponent -= count
        rest: uint64 = total & 7
        kept: uint64 = total >> 3
        if rest > 4 or (rest == 4 and (kept & 1) == 1):
            kept += 1
        if (kept >> 53) != 0:
            kept = kept >> 1
            exponent += 1
        bits: uint64 = exponent
        z[i] = ((a >> 63) << 63) | (bits << 52) | (kept & 0xFFFFFFFFFFFFF)
        if total == 0 or exponent <= 0:
            z[i] = 0


def motion(stream: uint8[256], vectors: int16[CODES]) -> int32:
    """Motion vectors of a stream of bits: zeros, a sign and four bits are the change to the last one."""
    at: int32 = 0
    last: int32 = 0
    for n in range(CODES):
        window: uint32 = 0
        for k in range(4):
            window = (window << 8) | stream[(at >> 3) + k]
        window = window << (at & 7)
        zeros: int32 = 0
        counting: uint1 = 1
        for z in range(8):
            if ((window >> (31 - z)) & 1) == 1:
                counting = 0
            if counting:
                zeros += 1
        taken: int32 = zeros + 1
        if zeros != 0:
            sign: uint32 = (window >> (30 - zeros)) & 1
            rest: int32 = (window >> (26 - zeros)) & 15
            change: int32 = (zeros - 1) * 16 + rest + 1
            if sign == 1:
                change = -change
            last = last + change
            if last > 1023:
                last -= 2048
            if last < -1024:
                last += 2048
            taken = zeros + 6
        vectors[n] = last
        at += taken
    return at


def dfmul(x: uint64[WORDS], y: uint64[WORDS], z: uint64[WORDS]):
    """Products of normal float64 by their bits, rounded to even; neither overflow nor subnormals."""
    for i in range(WORDS):
        a: uint64 = x[i]
        b: uint64 = y[i]
        exponent: int32 = ((a >> 52) & 0x7FF) + ((b >> 52) & 0x7FF) - 1023
        left: UInt(53) = (a & 0xFFFFFFFFFFFFF) | 0x10000000000000
        right: UInt(53) = (b & 0xFFFFFFFFFFFFF) | 0x10000000000000
        product: UInt(106) = left * right
        if (product >> 105) != 0:
            exponent += 1
        else:
            product = product << 1
        kept: UInt(54) = product >> 53
        rest: UInt(53) = product
        half: UInt(53) = 0x10000000000000
        if rest > half or (rest == half and (kept & 1) == 1):
            kept += 1
        if (kept >> 53) != 0:
            kept = kept >> 1
            exponent += 1
        bits: uint64 = exponent
        low: uint64 = kept
        z[i] = ((a ^ b) >> 63 << 63) | (bits << 52) | (low & 0xFFFFFFFFFFFFF)


def adpcm(samples: int16[SAMPLES], steps: int16[89], codes: uint8[SAMPLES]):
    """Four bits a sample: the difference to a prediction, in a step that follows its size."""
    predicted: int32 = 0
    place: int32 = 0
    for n in range(SAMPLES):
        step: int32 = steps[place]
        difference: int32 = samples[n] - predicted
        code: uint8 = 0
        if difference < 0:
            code = 8
            difference = -difference
        change: int32 = step >> 3
        for bit in range(3):
            part: int32 = step >> bit
            if difference >= part:
                code = code | (4 >> bit)
                difference -= part
                change += part
        if (code & 8) != 0:
            predicted -= change
        else:
            predicted += change
        if predicted > 32767:
            predicted = 32767
        if predicted < -32768:
            predicted = -32768
        if (code & 4) != 0:
            place += ((code & 3) + 1) * 2
        else:
            place -= 1
        if place < 0:
            place = 0
        if place > 88:
            place = 88
        codes[n] = code


def idct(block: int16[8, 8], pixels: uint8[8, 8]):
    """The inverse cosine transform of JPEG: rows, then columns, by even and odd halves."""
    between: int32[8, 8]
    for r in range(8):
        p0: int32 = (block[r, 0] + block[r, 4]) * 8192
        p1: int32 = (block[r, 0] - block[r, 4]) * 8192
        m2: int32 = block[r, 2] * 4433 - block[r, 6] * 10703
        m3: int32 = block[r, 2] * 10703 + block[r, 6] * 4433
        o1: int32 = (
            block[r, 1] * 11363 + block[r, 3] * 9633 + block[r, 5] * 6437 + block[r, 7] * 2260
        )
        o3: int32 = (
            block[r, 1] * 9633 - block[r, 3] * 2260 - block[r, 5] * 11363 - block[r, 7] * 6437
        )
        o5: int32 = (
            block[r, 1] * 6437 - block[r, 3] * 11363 + block[r, 5] * 2260 + block[r, 7] * 9633
        )
        o7: int32 = (
            block[r, 1] * 2260 - block[r, 3] * 6437 + block[r, 5] * 9633 - block[r, 7] * 11363
        )
        between[r, 0] = (p0 + m3 + o1) >> 11
        between[r, 7] = (p0 + m3 - o1) >> 11
        between[r, 1] = (p1 + m2 + o3) >> 11
        between[r, 6] = (p1 + m2 - o3) >> 11
        between[r, 2] = (p1 - m2 + o5) >> 11
        between[r, 5] = (p1 - m2 - o5) >> 11
        between[r, 3] = (p0 - m3 + o7) >> 11
        between[r, 4] = (p0 - m3 - o7) >> 11
    for c in range(8):
        for n in range(8):
            total: int32 = between[0, c] << 13
            for k in range(1, 8):
                total += between[k, c] * waves[n, k]
            level: int32 = ((total + 131072) >> 18) + 128
            if level < 0:
                level = 0
            if level > 255:
                level = 255
            pixels[n, c] = level


LOOPS: dict[str, tuple[str, ...]] = {
    "sha": ("i", "j", "t"),
    "blowfish": ("r",),
    "mips": (),
    "gsm": ("i", "k", "q"),
    "dfadd": ("i",),
    "motion": (),
    "dfmul": ("i",),
    "adpcm": ("n",),
    "idct": ("r", "k"),
}
KERNELS = {k.__name__: k for k in (sha, blowfish, mips, gsm, dfadd, motion, dfmul, adpcm, idct)}


def schedule(name: str) -> Schedule:
    """A kernel with its innermost loops as pipelines.

    Raises:
        KeyError: when there is no such kernel.
    """
    return pipelined(KERNELS[name], LOOPS[name])
