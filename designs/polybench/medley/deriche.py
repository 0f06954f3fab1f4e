"""PolyBench deriche, float32: a recursive filter along the rows and then the columns of an image."""

from __future__ import annotations

import math

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float32

SIZES = {"tiny": (5, 7), "mini": (64, 64), "small": (192, 128), "medium": (720, 480)}

alpha = 0.25
decay = math.exp(-alpha)
k = (1.0 - decay) * (1.0 - decay) / (1.0 + 2.0 * alpha * decay - decay**2)
a1 = k
a2 = k * decay * (alpha - 1.0)
a3 = k * decay * (alpha + 1.0)
a4 = -k * decay**2
b1 = 2.0**-alpha
b2 = -(decay**2)
c = 1.0


def deriche[T, W, H](imgIn: T[W, H], imgOut: T[W, H]):
    """Smooth ``imgIn`` of W rows and H columns into ``imgOut``."""
    y1: T[W, H]
    y2: T[W, H]
    for i in range(W, name="right"):
        ym1: T = 0.0
        ym2: T = 0.0
        xm1: T = 0.0
        for j in range(H):
            y1[i, j] = a1 * imgIn[i, j] + a2 * xm1 + b1 * ym1 + b2 * ym2
            xm1 = imgIn[i, j]
            ym2 = ym1
            ym1 = y1[i, j]
    for i in range(W, name="left"):
        yp1: T = 0.0
        yp2: T = 0.0
        xp1: T = 0.0
        xp2: T = 0.0
        for j in range(H - 1, -1, -1):
            y2[i, j] = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2
            xp2, xp1 = xp1, imgIn[i, j]
            yp2, yp1 = yp1, y2[i, j]
    for i, j in allo.grid(W, H, name="rows"):
        imgOut[i, j] = c * (y1[i, j] + y2[i, j])
    for j in range(H, name="down"):
        tm1: T = 0.0
        um1: T = 0.0
        um2: T = 0.0
        for i in range(W):
            y1[i, j] = a1 * imgOut[i, j] + a2 * tm1 + b1 * um1 + b2 * um2
            tm1 = imgOut[i, j]
            um2 = um1
            um1 = y1[i, j]
    for j in range(H, name="up"):
        tp1: T = 0.0
        tp2: T = 0.0
        up1: T = 0.0
        up2: T = 0.0
        for r in range(W):
            y2[W - 1 - r, j] = a3 * tp1 + a4 * tp2 + b1 * up1 + b2 * up2
            tp2, tp1 = tp1, imgOut[W - 1 - r, j]
            up2, up1 = up1, y2[W - 1 - r, j]
    for i, j in allo.grid(W, H, name="columns"):
        imgOut[i, j] = c * (y1[i, j] + y2[i, j])


def schedule(size: tuple[int, ...]) -> Schedule:
    """Every innermost loop a pipeline."""
    s = allo.customize(deriche, instantiate=[float32, *size])
    for band, inner in (
        ("right", "j"),
        ("left", "j"),
        ("rows", "j"),
        ("down", "i"),
        ("up", "r"),
        ("columns", "j"),
    ):
        s.pipeline(s.get_loops()[band][inner])
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """A random image and an array to overwrite."""
    return tuple(rng.standard_normal(size, np.float32) for _ in range(2))


def _causal(x: np.ndarray) -> np.ndarray:
    y = np.zeros_like(x)
    x1 = y1 = y2 = np.zeros_like(x[0])
    f1, f2, g1, g2 = (np.float32(c) for c in (a1, a2, b1, b2))
    for n in range(len(x)):
        y[n] = f1 * x[n] + f2 * x1 + g1 * y1 + g2 * y2
        x1, y1, y2 = x[n], y[n], y1
    return y


def _anticausal(x: np.ndarray) -> np.ndarray:
    y = np.zeros_like(x)
    x1 = x2 = y1 = y2 = np.zeros_like(x[0])
    f3, f4, g1, g2 = (np.float32(c) for c in (a3, a4, b1, b2))
    for n in reversed(range(len(x))):
        y[n] = f3 * x1 + f4 * x2 + g1 * y1 + g2 * y2
        x1, x2, y1, y2 = x[n], x1, y[n], y1
    return y


def reference(imgIn: np.ndarray, imgOut: np.ndarray) -> None:
    """The kernel in NumPy."""
    scale = np.float32(c)
    imgOut[:] = scale * (_causal(imgIn.T) + _anticausal(imgIn.T)).T
    imgOut[:] = scale * (_causal(imgOut) + _anticausal(imgOut))
