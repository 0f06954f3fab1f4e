"""MachSuite backprop, float64: a perceptron of two hidden layers, trained one example at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float64

# Inputs, outputs, nodes of a hidden layer, training examples.
SIZES = {"tiny": (13, 3, 8, 4), "full": (13, 3, 64, 163)}
RATE = 0.01


def forward[I, O](weights: float64[I, O], biases: float64[O], values: float64[I], sums: float64[O]):
    """``sums = values @ weights + biases``."""
    for o in range(O):
        total: float64 = 0
        for i in range(I):
            total += values[i] * weights[i, o]
        sums[o] = total + biases[o]


def sigmoid(x: float64) -> float64:
    """The logistic function."""
    y: float64 = 1.0 / (1.0 + allo.exp(-x))
    return y


def activate[N](sums: float64[N], values: float64[N], slopes: float64[N]):
    """The logistic function of every sum, and its slope there."""
    for n in range(N):
        value: float64 = sigmoid(sums[n])
        values[n] = value
        slopes[n] = value * (1.0 - value)


def soft_max[N](values: float64[N], shares: float64[N]):
    """Exponentials that add up to one."""
    total: float64 = 0
    for n in range(N):
        shares[n] = allo.exp(-values[n])
        total += shares[n]
    for m in range(N):
        shares[m] = shares[m] / total


def output_error[N](
    shares: float64[N], targets: float64[N], slopes: float64[N], errors: float64[N]
):
    """What the last layer got wrong, by its slopes."""
    for n in range(N):
        errors[n] = -(shares[n] - targets[n]) * slopes[n]


def backward[I, O](
    weights: float64[I, O], errors: float64[O], slopes: float64[I], earlier: float64[I]
):
    """``earlier = weights @ errors``, by the earlier layer's slopes."""
    for i in range(I):
        total: float64 = 0
        for o in range(O):
            total += errors[o] * weights[i, o]
        earlier[i] = total * slopes[i]


def update[I, O](
    weights: float64[I, O], biases: float64[O], values: float64[I], errors: float64[O]
):
    """A step down the gradient; then weights and biases are brought to length one."""
    norm: float64 = 0
    for i, o in allo.grid(I, O, name="step"):
        weights[i, o] -= values[i] * errors[o] * RATE
        norm += weights[i, o] * weights[i, o]
    bias_norm: float64 = 0
    for b in range(O):
        biases[b] -= errors[b] * RATE
        bias_norm += biases[b] * biases[b]
    norm = allo.sqrt(norm)
    bias_norm = allo.sqrt(bias_norm)
    for p, q in allo.grid(I, O, name="scale"):
        weights[p, q] = weights[p, q] / norm
    for r in range(O):
        biases[r] = biases[r] / bias_norm


def backprop[I, O, H, S](
    data: float64[S, I],
    targets: float64[S, O],
    weights1: float64[I, H],
    weights2: float64[H, H],
    weights3: float64[H, O],
    biases1: float64[H],
    biases2: float64[H],
    biases3: float64[O],
):
    """Trains on every example once, in order."""
    sums1: float64[H]
    sums2: float64[H]
    sums3: float64[O]
    values1: float64[H]
    values2: float64[H]
    values3: float64[O]
    slopes1: float64[H]
    slopes2: float64[H]
    slopes3: float64[O]
    shares: float64[O]
    errors1: float64[H]
    errors2: float64[H]
    errors3: float64[O]
    for example in range(S):
        forward[I, H, "1"](weights1, biases1, data[example], sums1)
        activate[H, "hidden"](sums1, values1, slopes1)
        forward[H, H, "2"](weights2, biases2, values1, sums2)
        activate[H, "hidden"](sums2, values2, slopes2)
        forward[H, O, "3"](weights3, biases3, values2, sums3)
        activate[O, "last"](sums3, values3, slopes3)
        soft_max[O](values3, shares)
        output_error[O](shares, targets[example], slopes3, errors3)
        backward[H, O, "3"](weights3, errors3, slopes2, errors2)
        backward[H, H, "2"](weights2, errors2, slopes1, errors1)
        update[H, O, "3"](weights3, biases3, values2, errors3)
        update[H, H, "2"](weights2, biases2, values1, errors2)
        update[I, H, "1"](weights1, biases1, data[example], errors1)


def pipelined(kernel: Callable[..., Any], sizes: tuple[int, ...], *loops: str) -> Schedule:
    """A function of one layer with pipelines in ``loops``."""
    s = allo.customize(kernel, instantiate=list(sizes))
    for loop in loops:
        s.pipeline(loop)
    return s


def schedule(size: tuple[int, ...]) -> Schedule:
    """Every innermost loop of every layer is a pipeline."""
    width, outputs, hidden, _ = size
    s = allo.customize(backprop, instantiate=list(size))
    for layer, sizes in {
        "1": (width, hidden),
        "2": (hidden, hidden),
        "3": (hidden, outputs),
    }.items():
        s.compose(pipelined(forward, sizes, "i"), id=layer)
        s.compose(pipelined(update, sizes, "o", "b", "q", "r"), id=layer)
        if layer != "1":
            s.compose(pipelined(backward, sizes, "o"), id=layer)
    for name, nodes in {"hidden": hidden, "last": outputs}.items():
        s.compose(pipelined(activate, (nodes,), "n"), id=name)
    for loop in ("soft_max:n", "soft_max:m", "output_error:n"):
        s.pipeline(loop)
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random examples of random classes, random weights and biases."""
    width, outputs, hidden, examples = size
    data = rng.standard_normal((examples, width))
    targets = np.eye(outputs)[rng.integers(0, outputs, examples)]
    shapes = ((width, hidden), (hidden, hidden), (hidden, outputs), hidden, hidden, outputs)
    return data, targets, *(rng.uniform(-1, 1, shape) for shape in shapes)


def reference(data: np.ndarray, targets: np.ndarray, *parameters: np.ndarray) -> None:
    """The same in matrices; equal up to the rounding of exponentials and sums."""
    weights, biases = parameters[:3], parameters[3:]
    for example, target in zip(data, targets, strict=True):
        values = [example]
        for w, b in zip(weights, biases, strict=True):
            values.append(1 / (1 + np.exp(-(values[-1] @ w + b))))
        slopes = [v * (1 - v) for v in values]
        shares = np.exp(-values[3]) / np.exp(-values[3]).sum()
        errors = [(target - shares) * slopes[3]]
        for w, slope in zip(weights[:0:-1], slopes[2:0:-1], strict=True):
            errors.insert(0, w @ errors[0] * slope)
        for w, b, value, error in zip(weights, biases, values[:-1], errors, strict=True):
            w -= RATE * np.outer(value, error)
            b -= RATE * error
            w /= np.linalg.norm(w)
            b /= np.linalg.norm(b)
