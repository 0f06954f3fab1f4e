"""MachSuite fft/strided: an iterative radix-2 FFT in place, float64; results in bit-reversed order."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float64, int32

# Points, twiddle factors.
SIZES = {"tiny": (64, 32), "full": (1024, 512)}


def fft[N, H](real_twid: float64[H], img_twid: float64[H], real: float64[N], img: float64[N]):
    """Halves the span of the butterflies until they are neighbours."""
    span: int32 = N >> 1
    log: int32 = 0
    while span != 0:
        odd: int32 = span
        while odd < N:
            odd |= span
            even: int32 = odd ^ span
            sum_real: float64 = real[even] + real[odd]
            real[odd] = real[even] - real[odd]
            real[even] = sum_real
            sum_img: float64 = img[even] + img[odd]
            img[odd] = img[even] - img[odd]
            img[even] = sum_img
            root: int32 = (even << log) & (N - 1)
            if root != 0:
                turned: float64 = real_twid[root] * real[odd] - img_twid[root] * img[odd]
                img[odd] = real_twid[root] * img[odd] + img_twid[root] * real[odd]
                real[odd] = turned
            odd += 1
        span >>= 1
        log += 1


def schedule(size: tuple[int, ...]) -> Schedule:
    """Whiles cannot be pipelined: the kernel stays as it is."""
    return allo.customize(fft, instantiate=list(size))


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random points and the roots of unity."""
    points, half = size
    roots = np.exp(-2j * np.pi * np.arange(half) / points)
    real, img = rng.standard_normal((2, points))
    return roots.real.copy(), roots.imag.copy(), real, img


def reference(
    real_twid: np.ndarray, img_twid: np.ndarray, real: np.ndarray, img: np.ndarray
) -> None:
    """NumPy's transform, in bit-reversed order; equal up to rounding."""
    bits = len(real).bit_length() - 1
    order = [int(f"{i:0{bits}b}"[::-1], 2) for i in range(len(real))]
    result = np.fft.fft(real + 1j * img)[order]
    real[:], img[:] = result.real, result.imag
