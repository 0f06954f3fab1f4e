"""FFT: 64 complex points, a butterfly a cycle.

Six passes of 32 butterflies, each the sum and the difference of two points, one of them turned by a
root of unity. The passes all have the same geometry (Pease): butterfly i reads points 2i and 2i+1 and
writes points i and i+32, so one address generator serves all. Points and roots are Q15, and every pass
halves its results, which gives the transform divided by 64.

Hardware: one complex multiplier and two adders in a pipeline between two memories, which change roles
after each pass. The points enter in bit-reversed order, by a table of addresses.

Interval: nothing holds it up inside a pass: two words are read from one memory and two written to the
other in each cycle, as many as they have ports. A pass waits until the one before has written its last.

Source: M. C. Pease, An Adaptation of the Fast Fourier Transform for Parallel Processing, Journal of the
ACM, 1968.

Used in: OFDM modems, spectrum analysers, radar
"""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import int16, int32, uint8

POINTS, HALF, PASSES = 64, 32, 6
TOLERANCE = 8

turns = np.exp(-2j * np.pi * np.arange(HALF) / POINTS)
cosines = np.round(turns.real * (2**15 - 1)).astype(np.int16)
sines = np.round(turns.imag * (2**15 - 1)).astype(np.int16)
places = np.array([int(f"{n:06b}"[::-1], 2) for n in range(POINTS)], np.uint8)


def one_pass(
    step: int32,
    from_re: int16[POINTS],
    from_im: int16[POINTS],
    to_re: int16[POINTS],
    to_im: int16[POINTS],
):
    """Pass ``step`` of the transform: ``HALF`` butterflies from one pair of arrays to the other.

    Real and imaginary parts are in Q15; results are halved and rounded down.
    """
    root_re: int16[HALF] = cosines
    root_im: int16[HALF] = sines
    for i in range(HALF):
        turn: uint8 = (i >> (PASSES - 1 - step)) << (PASSES - 1 - step)
        c: int16 = root_re[turn]
        s: int16 = root_im[turn]
        x: int16 = from_re[2 * i + 1]
        y: int16 = from_im[2 * i + 1]
        re: int16 = (c * x - s * y) >> 15
        im: int16 = (c * y + s * x) >> 15
        to_re[i] = (from_re[2 * i] + re) >> 1
        to_im[i] = (from_im[2 * i] + im) >> 1
        to_re[i + HALF] = (from_re[2 * i] - re) >> 1
        to_im[i + HALF] = (from_im[2 * i] - im) >> 1


def fft(re: int16[POINTS], im: int16[POINTS], out_re: int16[POINTS], out_im: int16[POINTS]):
    """The discrete Fourier transform of ``POINTS`` complex points, divided by ``POINTS`` (Pease's passes).

    Real and imaginary parts are in Q15, and no input may be longer than one, so that nothing overflows.
    """
    reversed: uint8[POINTS] = places
    a_re: int16[POINTS]
    a_im: int16[POINTS]
    b_re: int16[POINTS]
    b_im: int16[POINTS]
    for n in range(POINTS):
        a_re[n] = re[reversed[n]]
        a_im[n] = im[reversed[n]]
    for pair in range(PASSES // 2):
        one_pass(2 * pair, a_re, a_im, b_re, b_im)
        one_pass(2 * pair + 1, b_re, b_im, a_re, a_im)
    for m in range(POINTS):
        out_re[m] = a_re[m]
        out_im[m] = a_im[m]


def schedule() -> Schedule:
    """A butterfly a cycle; a point a cycle in and out."""
    s = allo.customize(fft)
    s.pipeline("one_pass:i")
    s.pipeline("n")
    s.pipeline("m")
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Random points, no longer than one."""
    re, im = (rng.integers(-23000, 23000, POINTS, np.int16) for _ in range(2))
    return re, im, np.zeros(POINTS, np.int16), np.zeros(POINTS, np.int16)


def reference(re: np.ndarray, im: np.ndarray, out_re: np.ndarray, out_im: np.ndarray) -> None:
    """NumPy's transform, divided by 64."""
    transform = np.fft.fft(re + 1j * im.astype(float)) / POINTS
    out_re[:] = np.round(transform.real)
    out_im[:] = np.round(transform.imag)
