"""The kernels like those of CHStone compute what they say, on the CPU and as hardware."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from benchmarks import chstone_kernels as kernels

WORD, LARGE = 0xFFFFFFFF, 1 << 63
RNG = np.random.default_rng(30)


def sha(message):
    text = b"".join(int(word).to_bytes(4, "big") for word in message.ravel())
    size = int.from_bytes(text[-8:], "big") // 8
    digest = hashlib.sha1(text[:size]).digest()
    return np.frombuffer(digest, ">u4").astype(np.uint32)


def blowfish(p, s, text):
    for n in range(0, len(text), 2):
        left, right = int(text[n]), int(text[n + 1])
        for r in range(16):
            left ^= int(p[r])
            a, b, c, d = left.to_bytes(4, "big")
            sums = ((int(s[0, a]) + int(s[1, b])) & WORD ^ int(s[2, c])) + int(s[3, d])
            left, right = right ^ (sums & WORD), left
        text[n], text[n + 1] = right ^ int(p[17]), left ^ int(p[16])


def assembled():
    """Sums, products, shifts and a loop over memory, then a return to 0."""

    def immediate(op, rs, rt, low):
        return op << 26 | rs << 21 | rt << 16 | low & 0xFFFF

    def registers(funct, rs, rt, rd, amount=0):
        return rs << 21 | rt << 16 | rd << 11 | amount << 6 | funct

    program = [
        immediate(0x09, 0, 1, 10),
        immediate(0x09, 0, 2, 0),
        immediate(0x23, 2, 3, 0),
        registers(0x18, 3, 3, 0),
        registers(0x12, 0, 0, 4),
        registers(0x10, 0, 0, 5),
        registers(0x26, 4, 5, 4),
        registers(0x03, 0, 4, 6, 3),
        registers(0x2A, 6, 3, 7),
        registers(0x21, 6, 7, 6),
        immediate(0x2B, 2, 6, 64),
        immediate(0x09, 2, 2, 4),
        immediate(0x09, 1, 1, -1),
        immediate(0x05, 1, 0, -12),
        registers(0x08, 0, 0, 0),
    ]
    return np.array(program + [0] * (64 - len(program)), np.uint32)


def mips(program, data):
    """What the program of :func:`assembled` does."""
    for place in range(10):
        product = int(data[place]) ** 2
        low = product & WORD ^ product >> 32 & WORD
        low -= (low & 1 << 31) << 1
        shifted = low >> 3
        data[place + 16] = np.int64(shifted + (shifted < data[place])).astype(np.int32)
    return 2 + 10 * 12 + 1


def gsm(samples, reflections):
    values = [int(v) for v in samples]
    shift = max(0, max(map(abs, values)).bit_length() - 11)
    small = [v >> shift for v in values]
    sums = [sum(small[n] * small[n - k] >> 4 for n in range(k, 160)) >> 13 for k in range(9)]
    up, down = list(sums), list(sums)
    for stage in range(8):
        top, whole = up[1], down[0]
        ratio = (abs(top) << 15) // whole if abs(top) < whole else 0
        reflections[stage] = part = ratio if top < 0 else -ratio
        for q in range(8):
            above, below = up[q + 1], down[q]
            down[q] = below + (above * part + 16384 >> 15)
            up[q] = above + (below * part + 16384 >> 15)


def floats(x, y, z, op):
    z[:] = op(x.view(np.float64), y.view(np.float64)).view(np.uint64)


def motion(stream, vectors):
    bits = "".join(f"{byte:08b}" for byte in stream)
    at = last = 0
    for n in range(len(vectors)):
        zeros = len(bits[at : at + 8]) - len(bits[at : at + 8].lstrip("0"))
        at += zeros + 1
        if zeros:
            sign, rest = bits[at] == "1", int(bits[at + 1 : at + 5], 2)
            change = (zeros - 1) * 16 + rest + 1
            last += -change if sign else change
            last = (last + 1024) % 2048 - 1024 if abs(last) > 1023 and last != -1024 else last
            at += 5
        vectors[n] = last
    return at


def adpcm(samples, steps, codes):
    predicted = place = 0
    for n, sample in enumerate(samples):
        step, difference = int(steps[place]), int(sample) - predicted
        size, code, change = abs(difference), 8 if difference < 0 else 0, step >> 3
        for bit in range(3):
            if size >= step >> bit:
                code, size, change = code | 4 >> bit, size - (step >> bit), change + (step >> bit)
        predicted = max(-32768, min(32767, predicted - change if code & 8 else predicted + change))
        place = max(0, min(88, place + (((code & 3) + 1) * 2 if code & 4 else -1)))
        codes[n] = code


def idct(block, pixels):
    """To the nearest level of the float transform, which a rounding may miss by one."""
    k = np.arange(8)
    basis = np.cos((2 * k[:, None] + 1) * k * np.pi / 16) * np.where(k, 0.5, np.sqrt(1 / 8))
    level = basis @ block.astype(float) @ basis.T
    pixels[:] = np.clip(np.rint(level) + 128, 0, 255)


def _padded():
    text = RNG.bytes(240)
    return np.frombuffer(
        text + b"\x80".ljust(8, b"\0") + (8 * 240).to_bytes(8, "big"), ">u4"
    ).astype(np.uint32)


def _normal():
    """Bits of numbers of like size, some of them opposite and nearly equal."""
    values = RNG.standard_normal(16) * 2.0 ** RNG.integers(-30, 30, 16)
    return values.view(np.uint64)


def _words(*shape):
    return RNG.integers(0, 1 << 32, shape, np.uint32)


def arguments(name):
    """Random arguments of a kernel, the results among them."""
    x, noise = _normal(), RNG.integers(-20000, 20000, 160).astype(np.int16)
    near = (-_normal().view(np.float64)).view(np.uint64)
    near[::3] = x[::3] + RNG.integers(0, 9, 6).astype(np.uint64) ^ np.uint64(LARGE)
    steps = np.array([7 * 1.1**k for k in range(89)], np.int16)
    out = np.zeros(16, np.uint64)
    return {
        "sha": (_padded().reshape(4, 16),),
        "blowfish": (_words(18), _words(4, 256), _words(32)),
        "mips": (assembled(), RNG.integers(-(1 << 31), 1 << 31, 64).astype(np.int32)),
        "gsm": (noise, np.zeros(8, np.int16)),
        "dfadd": (x, near, out),
        "dfmul": (x, near, out),
        "motion": (RNG.integers(1, 256, 256).astype(np.uint8), np.zeros(32, np.int16)),
        "adpcm": (noise, steps, np.zeros(160, np.uint8)),
        "idct": (RNG.integers(-300, 300, (8, 8)).astype(np.int16), np.zeros((8, 8), np.uint8)),
    }[name]


def expected(name, *given):
    if name in ("dfadd", "dfmul"):
        return floats(*given, np.add if name == "dfadd" else np.multiply)
    return globals()[name](*given)


@pytest.mark.parametrize("target", ["cpu", "verilog"])
@pytest.mark.parametrize("name", list(kernels.KERNELS))
def test_a_kernel_computes_what_it_says(name: str, target: str) -> None:
    options = {"device": "xcup"} if target == "verilog" else {}
    mod = kernels.schedule(name).build(target=target, **options)
    for _ in range(3):
        given = arguments(name)
        wanted = [array.copy() for array in given]
        back, right = mod(*given), expected(name, *wanted)
        for found, want in zip(given, wanted, strict=True):
            far = np.abs(found.astype(np.int64) - want.astype(np.int64)).max()
            assert far <= 1 if name == "idct" else np.array_equal(found, want)
        if right is not None:
            assert np.array_equal(back, right)
