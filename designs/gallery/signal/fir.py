"""FIR filter: 16 taps in the transposed form, one sample a cycle.

A finite impulse response filter gives every output sample as a weighted sum of the last 16 input
samples, `y[n] = h[0] x[n] + h[1] x[n-1] + … + h[15] x[n-15]`. The weights here make a low-pass filter
(a sinc under a Hamming window) in Q15; samples have 16 bits, results 32.

Hardware: 16 multipliers take the same sample in the same cycle, and 16 registers carry the partial
sums: `z[k]` takes `z[k+1]` plus its product. In this transposed form no path holds more than one product
and one sum, however many taps there are, and no delay line of samples is needed.

Interval: nothing holds it up. The sums have a recurrence (`z[k]` reads what `z[k+1]` held one sample
before), but a distance of one sample and one adder fit in one cycle.

Source: A. V. Oppenheim and R. W. Schafer, Discrete-Time Signal Processing, 3rd edition, section 6.3.

Used in: radios, audio, sensors
"""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import int16, int32

N, TAPS = 256, 16


def low_pass(cutoff: float) -> np.ndarray:
    """A windowed sinc in Q15 that sums to nearly one; ``cutoff`` in cycles a sample."""
    place = np.arange(TAPS) - (TAPS - 1) / 2
    ideal = np.sinc(2 * cutoff * place) * np.hamming(TAPS)
    scaled: np.ndarray = np.round(ideal / ideal.sum() * 2**15)
    return scaled.astype(np.int16)


weights = low_pass(0.1)


def fir(x: int16[N]) -> int32[N]:
    """``y[n] = h[0] x[n] + … + h[15] x[n - 15]`` of ``N`` samples; samples before the first are zero.

    ``h`` is in Q15, so ``y`` has 15 fraction bits more than ``x``.
    """
    h: int16[TAPS] = weights
    z: int32[TAPS + 1] = 0
    y: int32[N]
    for n in range(N):
        for k in range(TAPS):
            z[k] = z[k + 1] + h[k] * x[n]
        y[n] = z[0]
    return y


def schedule() -> Schedule:
    """A sample a cycle: the taps side by side, every partial sum in a register of its own."""
    s = allo.customize(fir)
    s.pipeline("n")
    s.partition(s.z)
    s.partition(s.h)
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Random samples."""
    return (rng.integers(-(2**15), 2**15, N, np.int16),)


def reference(x: np.ndarray) -> np.ndarray:
    """A convolution in NumPy."""
    samples: np.ndarray = np.convolve(x.astype(np.int64), weights)[:N]
    return samples.astype(np.int32)
