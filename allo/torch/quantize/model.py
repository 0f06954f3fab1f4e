"""A quantised model: its exact reference, its schedule, and what quantising changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from allo.dialects.diagnostics import ModelError
from allo.models.accuracy import AccuracyTable, Row
from allo.models.graph import Model
from allo.models.integers.arithmetic import Array
from allo.models.integers.reference import Reference
from allo.models.origin import Origin, ReferenceOrigin
from allo.models.schedule import ModelSchedule

from ..entry import from_pytorch
from ..origin import JUDGE, Prepared, TorchOrigin, kinds_of
from ..wheel import load_torch
from .inputs import arrays_of, samples_of, shapes_text
from .weights import Scheme


class QuantizedModel(Prepared):
    """What :func:`allo.quantize` gives.

    Attributes:
        scheme: the scheme's name.
        graph: the integer graph.
        weight_bytes: what the quantised weights take, those of four bits packed.
    """

    def __init__(self, original: Any, graph: Model, scheme: Scheme, examples: list[Any]) -> None:
        self.scheme = scheme.name
        self.graph = graph
        self._original = original
        self._examples = examples
        self._reference = Reference(graph)

    @property
    def weight_bytes(self) -> int:
        """Bytes of all weights and of what belongs to them."""
        bits = 0
        for name, (_, array) in self.graph.weights.items():
            bits += array.size * (4 if name in self.graph.narrow else 8 * array.itemsize)
        return bits // 8

    def reference(self, *inputs: Any) -> Any:
        """The results of one call in NumPy: the bits of the CPU, of csim and of hardware.

        Args:
            inputs: tensors or arrays, of the shapes that calibration had.

        Raises:
            ModelError: for other shapes.
        """
        arrays = arrays_of(inputs)
        self._check(arrays)
        results = [r.reshape(r.shape or (1,)) for r in self._reference(*arrays)]
        return results[0] if len(results) == 1 else tuple(results)

    def exported(self, example_inputs: Any) -> Model:
        """The integer graph, for :func:`allo.frontend.from_pytorch`.

        Raises:
            ModelError: when the example inputs are not of the shapes that calibration had.
        """
        self._check(arrays_of(example_inputs))
        return self.graph

    def origin(self, example_inputs: Sequence[Any]) -> Origin:
        """What a verified schedule is compared with: the reference."""
        arrays, kinds = arrays_of(example_inputs), kinds_of(self._original)
        return ReferenceOrigin(self.graph, self.reference, arrays, kinds, JUDGE)

    def customize(self, *, weights_as_args: bool = False) -> ModelSchedule:
        """The schedule of the integer model."""
        schedule: ModelSchedule = from_pytorch(
            self, self._examples, target="mlir", weights_as_args=weights_as_args
        )
        return schedule

    def table(self, data: Any, labels: Any = None) -> AccuracyTable:
        """The accuracy before and after, of the first result's highest score along its last dimension.

        Args:
            data: a list of inputs, or an array whose first dimension counts the samples.
            labels: the class of each sample; None compares with the float model only.

        Raises:
            ModelError: inputs of another shape, or another number of labels.
        """
        torch = load_torch()
        samples = samples_of(torch, data, "data")
        before, after = [], []
        for sample in samples:
            arrays = arrays_of(sample)
            self._check(arrays)
            exact = TorchOrigin(self._original, sample).expected()[0]
            before.append(exact.reshape(exact.shape or (1,)))
            first = self.reference(*arrays)
            after.append(first[0] if isinstance(first, tuple) else first)
        wanted = None if labels is None else _labels(labels, before)
        rows = [
            Row.of("float32", before, before, wanted),
            Row.of(self.scheme, after, before, wanted),
        ]
        return AccuracyTable(tuple(rows), len(samples))

    def _check(self, arrays: Sequence[Array]) -> None:
        wanted = [meta.shape for meta in self.graph.inputs.values()]
        if [array.shape for array in arrays] != wanted:
            raise ModelError(
                f"The inputs have the shapes {shapes_text([a.shape for a in arrays])}, and the model"
                f" was quantised for {shapes_text(wanted)}.",
                help="calibrate with inputs of the shapes that the design shall take.",
            )


def _labels(labels: Any, results: Sequence[Array]) -> Array:
    wanted = np.asarray(labels).reshape(-1)
    count = sum(result[..., 0].size for result in results)
    if len(wanted) != count:
        raise ModelError(
            f"There are {len(wanted)} labels for {count} results.",
            help="give one label for each row of the results.",
        )
    return wanted
