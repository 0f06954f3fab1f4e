"""MachSuite fft/transpose, float64: 512 points as three rounds of 64 transforms of 8 points."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float64, int32

POINTS = 512
THREADS = 64
SIZES = {"tiny": (POINTS,), "full": (POINTS,)}
roots = np.exp(-2j * np.pi * np.arange(POINTS) / POINTS)
root_real = roots.real.copy()
root_img = roots.imag.copy()
half_root = float(np.sqrt(0.5))
# Where the result of each frequency stands after a transform of 8 points.
reversed8 = [0, 4, 2, 6, 1, 5, 3, 7]


def product(ar: float64, ai: float64, br: float64, bi: float64) -> (float64, float64):
    """A complex product."""
    return ar * br - ai * bi, ar * bi + ai * br


def butterfly(real: float64[8], img: float64[8], a: int32, b: int32):
    """The sum of two points, and their difference."""
    r: float64 = real[a] - real[b]
    i: float64 = img[a] - img[b]
    real[a] = real[a] + real[b]
    img[a] = img[a] + img[b]
    real[b] = r
    img[b] = i


def turn(real: float64[8], img: float64[8], a: int32):
    """A quarter turn back: times -i."""
    real[a], img[a] = img[a], -real[a]


def eighth(real: float64[8], img: float64[8], a: int32, sign: float64):
    """An eighth of a turn back, or three."""
    r: float64 = (sign * real[a] + img[a]) * half_root
    i: float64 = (sign * img[a] - real[a]) * half_root
    real[a] = r
    img[a] = i


def fft4(real: float64[8], img: float64[8], base: int32):
    """A transform of the four points from ``base``, in place, bit-reversed."""
    butterfly(real, img, base, base + 2)
    butterfly(real, img, base + 1, base + 3)
    turn(real, img, base + 3)
    butterfly(real, img, base, base + 1)
    butterfly(real, img, base + 2, base + 3)


def fft8(real: float64[8], img: float64[8]):
    """A transform of eight points, in place, bit-reversed."""
    for k in range(4):
        butterfly(real, img, k, k + 4)
    eighth(real, img, 5, 1.0)
    turn(real, img, 6)
    eighth(real, img, 7, -1.0)
    fft4(real, img, 0)
    fft4(real, img, 4)


def fft_round(
    real: float64[POINTS],
    img: float64[POINTS],
    next_real: float64[POINTS],
    next_img: float64[POINTS],
    shift: int32,
):
    """Eight points from every eighth of the array; the results, turned, into groups of ``1 << shift``."""
    table_real: float64[POINTS] = root_real
    table_img: float64[POINTS] = root_img
    order: int32[8] = reversed8
    for thread in range(THREADS):
        point_real: float64[8]
        point_img: float64[8]
        for a in range(8):
            point_real[a] = real[thread + THREADS * a]
            point_img[a] = img[thread + THREADS * a]
        fft8(point_real, point_img)
        low: int32 = thread & ((1 << shift) - 1)
        high: int32 = thread - low
        for b in range(8):
            at: int32 = order[b]
            angle: int32 = high * b
            target: int32 = (high << 3) + (b << shift) + low
            next_real[target], next_img[target] = product(
                point_real[at], point_img[at], table_real[angle], table_img[angle]
            )


def fft1D_512(work_x: float64[POINTS], work_y: float64[POINTS]):
    """The transform of ``work_x + i work_y``, in place and in order."""
    spare_x: float64[POINTS]
    spare_y: float64[POINTS]
    fft_round(work_x, work_y, spare_x, spare_y, 0)
    fft_round(spare_x, spare_y, work_x, work_y, 3)
    fft_round(work_x, work_y, spare_x, spare_y, 6)
    for n in range(POINTS):
        work_x[n] = spare_x[n]
        work_y[n] = spare_y[n]


def schedule(size: tuple[int, ...] = ()) -> Schedule:
    """A transform of eight points enters the pipeline as fast as two ports an array let it."""
    s = allo.customize(fft1D_512)
    s.pipeline("fft_round:thread")
    s.partition("fft_round:point_real")
    s.partition("fft_round:point_img")
    s.pipeline("n")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...] = ()) -> tuple[np.ndarray, ...]:
    """Random points."""
    return tuple(rng.standard_normal((2, POINTS)))


def reference(work_x: np.ndarray, work_y: np.ndarray) -> None:
    """NumPy's transform; equal up to rounding."""
    result = np.fft.fft(work_x + 1j * work_y)
    work_x[:], work_y[:] = result.real, result.imag
