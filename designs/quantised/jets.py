"""A jet tagger as a network of lookup tables, taught by one that others trained.

The teacher is the 6-bit tagger of QONNX's model zoo, 16-64-32-32-5. The data of jets are not here, so the
student is trained on draws that the teacher labels (:func:`draws`), and what is measured is how often both
give the same class. Nothing follows from that about accuracy on jets.

``scripts/python -m allo.designs.quantised.jets TEACHER.onnx`` trains the student and writes ``jets.npz``
beside this file, which takes minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import allo
from allo.ir.types import Int, Stream, UInt, int32

from .sparse import WEIGHT_UNIT, Floats, Shape, Sparse, restored, stored, train

FEATURES, CLASSES, STEP = 16, 5, 1 / 8
"""Inputs have 6 bits in steps of an eighth."""
SHAPES = (Shape(128, 1), Shape(256, 3), Shape(128, 3), Shape(80, 3, 4, True, 0.25))
PASSES, DRAWS = 40, 200_000
TRAINED = Path(__file__).with_name("jets.npz")
CENTRES = 4
"""Of the mixture, for each class of the teacher."""

Classes = NDArray[np.int64]


class Teacher:
    """Four layers of 6-bit weights and activations, in floats as the graph of QONNX says."""

    def __init__(self, weights: Sequence[NDArray[Any]], biases: Sequence[NDArray[Any]]) -> None:
        self.weights, self.biases = weights, biases

    @staticmethod
    def read(path: Path | str) -> Teacher:
        """The weights of a file of QONNX's model zoo; needs the extra ``qonnx``."""
        import onnx
        from onnx import numpy_helper

        given = {i.name: numpy_helper.to_array(i) for i in onnx.load(str(path)).graph.initializer}
        parts = [np.clip((given[f"Quant_{k}_param0"] * 32).round(), -32, 31) / 32 for k in range(8)]
        return Teacher([parts[k] for k in (6, 4, 2, 0)], [parts[k] for k in (7, 5, 3, 1)])

    def scores(self, x: NDArray[Any]) -> NDArray[np.float64]:
        """The sums before the softmax."""
        values = x.astype(np.float64)
        for weight, bias in zip(self.weights[:3], self.biases[:3], strict=True):
            sums = np.maximum(values @ weight + bias, 0)
            values = np.clip(np.round(sums * 64), 0, 63) / 64
        return np.asarray(values @ self.weights[3] + self.biases[3])


def draws(teacher: Teacher, count: int, seed: int) -> tuple[NDArray[np.int8], Classes]:
    """Samples in steps of an eighth, and the teacher's classes: as many of each.

    A mixture of Gaussians: four centres for each class, standard normal draws of which the teacher is sure,
    and a covariance of rank 5 beside noise, all the same for every seed.
    """
    fixed = np.random.default_rng(100)
    pool = fixed.normal(0, 1, (40_000, FEATURES))
    scores = teacher.scores(pool)
    ordered = np.sort(scores, 1)
    sure = ordered[:, -1] - ordered[:, -2] > 1.0
    chosen = [pool[sure & (scores.argmax(1) == c)][:CENTRES] for c in range(CLASSES)]
    centres, common = np.stack(chosen), fixed.normal(0, 1, (5, FEATURES)) * 0.35
    rng = np.random.default_rng(seed)
    samples: list[NDArray[np.int8]] = []
    classes: list[Classes] = []
    needed = np.full(CLASSES, count // CLASSES)
    while needed.sum() > 0:
        which = rng.integers(0, CLASSES, count), rng.integers(0, CENTRES, count)
        x = centres[which] + rng.normal(0, 1, (count, 5)) @ common
        x = x + rng.normal(0, 0.5, (count, FEATURES))
        levels = np.clip(np.round(x / STEP), -32, 31).astype(np.int8)
        found = teacher.scores(levels * STEP).argmax(1)
        for c in range(CLASSES):
            places = np.flatnonzero(found == c)[: needed[c]]
            samples.append(levels[places])
            classes.append(found[places])
            needed[c] -= len(places)
    order = rng.permutation(sum(map(len, samples)))
    return np.concatenate(samples)[order], np.concatenate(classes)[order]


def as_floats(levels: NDArray[np.int8]) -> Floats:
    """Samples as the network reads them."""
    return levels.astype(np.float32) * np.float32(STEP)


def student() -> Sparse:
    """The network that was trained."""
    with np.load(TRAINED) as arrays:
        return restored(arrays, FEATURES, SHAPES, CLASSES)


def integers(net: Sparse) -> list[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]]:
    """What each neuron reads, its weights and its bias, in the units of :func:`kernel`."""
    arrays = stored(net)
    found = []
    for layer, shape in enumerate(net.shapes):
        unit = STEP if layer == 0 else net.shapes[layer - 1].unit
        # sums of levels times weights have the unit unit * WEIGHT_UNIT; biases have WEIGHT_UNIT
        scale = int(round(1 / unit))
        reads, weights = (
            arrays[f"{name}_{layer}"].astype(np.int32) for name in ("reads", "weights")
        )
        bias = arrays[f"bias_{layer}"].astype(np.int32) * scale
        shift = shift_of(net, layer)
        found.append((reads, weights, bias + (1 << (shift - 1))))
        if shape.unit / (unit * WEIGHT_UNIT) != 1 << shift:
            raise ValueError(f"layer {layer} has a unit that is no power of two of its sums'")
    return found


def shift_of(net: Sparse, layer: int) -> int:
    """Places by which a sum of a layer is shifted to become a level."""
    unit = STEP if layer == 0 else net.shapes[layer - 1].unit
    return int(net.shapes[layer].unit / (unit * WEIGHT_UNIT)).bit_length() - 1


def kernel(net: Sparse, samples: int) -> Any:
    """The network on streams of samples; levels are rounded half to even."""
    (R0, W0, B0), (R1, W1, B1), (R2, W2, B2), (R3, W3, B3) = integers(net)
    N0, N1, N2, N3 = (shape.outputs for shape in net.shapes)
    F1, F2, F3 = (shape.reads for shape in net.shapes[1:])
    S0, S1, S2, S3 = (shift_of(net, layer) for layer in range(4))
    M0, M1, M2, M3 = ((1 << shift) - 1 for shift in (S0, S1, S2, S3))
    HALF = N3 // CLASSES // 2

    def tagger(x: Stream[Int(6)[FEATURES], 2], y: Stream[Int(8)[CLASSES], 2]):  # type: ignore[valid-type]
        r0: int32[N0, 1] = R0
        w0: int32[N0, 1] = W0
        b0: int32[N0] = B0
        r1: int32[N1, F1] = R1
        w1: int32[N1, F1] = W1
        b1: int32[N1] = B1
        r2: int32[N2, F2] = R2
        w2: int32[N2, F2] = W2
        b2: int32[N2] = B2
        r3: int32[N3, F3] = R3
        w3: int32[N3, F3] = W3
        b3: int32[N3] = B3
        for _sample in range(samples):
            v: Int(6)[FEATURES] = x.get()
            h0: UInt(2)[N0]
            h1: UInt(2)[N1]
            h2: UInt(2)[N2]
            h3: Int(4)[N3]
            t1: Int(5)[CLASSES, HALF]
            t2: Int(6)[CLASSES, HALF // 2]
            t3: Int(7)[CLASSES, HALF // 4]
            sums: Int(8)[CLASSES]
            for j0 in range(N0):
                a: int32 = b0[j0] + w0[j0, 0] * v[r0[j0, 0]]
                h0[j0] = min(max((a >> S0) & (-2 if (a & M0) == 0 else -1), 0), 3)
            for j1 in range(N1):
                c: int32 = b1[j1]
                for i1 in range(F1):
                    c += w1[j1, i1] * h0[r1[j1, i1]]
                h1[j1] = min(max((c >> S1) & (-2 if (c & M1) == 0 else -1), 0), 3)
            for j2 in range(N2):
                d: int32 = b2[j2]
                for i2 in range(F2):
                    d += w2[j2, i2] * h1[r2[j2, i2]]
                h2[j2] = min(max((d >> S2) & (-2 if (d & M2) == 0 else -1), 0), 3)
            for j3 in range(N3):
                e: int32 = b3[j3]
                for i3 in range(F3):
                    e += w3[j3, i3] * h2[r3[j3, i3]]
                h3[j3] = min(max((e >> S3) & (-2 if (e & M3) == 0 else -1), -8), 7)
            for g1 in range(CLASSES):
                for k1 in range(HALF):
                    t1[g1, k1] = h3[2 * HALF * g1 + 2 * k1] + h3[2 * HALF * g1 + 2 * k1 + 1]
            for g2 in range(CLASSES):
                for k2 in range(HALF // 2):
                    t2[g2, k2] = t1[g2, 2 * k2] + t1[g2, 2 * k2 + 1]
            for g3 in range(CLASSES):
                for k3 in range(HALF // 4):
                    t3[g3, k3] = t2[g3, 2 * k3] + t2[g3, 2 * k3 + 1]
            for g4 in range(CLASSES):
                sums[g4] = t3[g4, 0] + t3[g4, 1]
            y.put(sums)

    return tagger


def schedule(net: Sparse, samples: int) -> Any:
    """The hardware: every neuron is tables, and a sample enters in each cycle."""
    s = allo.customize(kernel(net, samples))
    for layer in range(4):
        s.tabulate(f"j{layer}")
    for array in (s.v, s.h0, s.h1, s.h2, s.h3, s.t1, s.t2, s.t3, s.sums):
        s.partition(array)
    s.pipeline("_sample")
    return s


def taught(teacher: Teacher) -> Sparse:
    """Train the student."""
    levels, classes = draws(teacher, DRAWS, 1)
    net, x = Sparse(FEATURES, SHAPES, CLASSES), as_floats(levels)
    for turn in train(net, x, classes, PASSES):
        same = float((net.classes(x[:20_000]) == classes[:20_000]).mean())
        sys.stdout.write(f"pass {turn + 1} of {PASSES}: {same:.2%} of the teacher's classes\n")
    return net


def main(arguments: Sequence[str]) -> int:
    """Train, measure on draws that were not used, and write the student."""
    teacher = Teacher.read(arguments[0])
    net = taught(teacher)
    levels, classes = draws(teacher, 20_000, 2)
    same = float((net.classes(as_floats(levels)) == classes).mean())
    sys.stdout.write(f"{same:.2%} of the teacher's classes on 20,000 other draws\n")
    arrays: dict[str, Any] = dict(stored(net))
    np.savez_compressed(TRAINED, **arrays)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
