"""The trees of an ONNX-ML file: one node of an ensemble, and what stands around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from allo.dialects.diagnostics import ModelError, UnsupportedOperatorError
from allo.models.integers.trees import Split, Tree

from ..packages import load

KINDS = {"TreeEnsembleClassifier": "class", "TreeEnsembleRegressor": "target"}
_AROUND = (
    "Identity",
    "Cast",
    "ZipMap",
    "Normalizer",
    "Reshape",
    "Flatten",
    "ArrayFeatureExtractor",
)
"""Nodes that may stand before or behind: they leave the order of the scores as it is."""
_LEAF = "LEAF"
_FLIPPED = {"BRANCH_GT": "BRANCH_LEQ", "BRANCH_GTE": "BRANCH_LT"}


@dataclass(frozen=True, slots=True)
class Ensemble:
    """An ensemble, as the file has it.

    Attributes:
        name: of its node.
        kind: the operator.
        features: elements of an input that are read, at least.
        results: scores that it gives.
        bases: what each begins with.
        trees: of each score: nodes of ``(mode, feature, value, below, above)``, leaves of one number.
    """

    name: str
    kind: str
    features: int
    results: int
    bases: Sequence[float]
    trees: Sequence[Sequence[Any]]

    def leaves(self, result: int) -> list[list[float]]:
        """The leaves of each tree of a score."""
        return [list(_leaves(tree)) for tree in self.trees[result]]


def opened(model: Any) -> Any:
    """The ``onnx.ModelProto`` of a file or a model.

    Raises:
        ModelError: no such file, or no ONNX.
    """
    onnx = load("onnx")
    if isinstance(model, onnx.ModelProto):
        return model
    if not isinstance(model, (str, Path)) or not Path(model).is_file():
        raise ModelError(
            f"There is no ONNX file {str(model)!r}.",
            help="give the path of a .onnx file, or an onnx.ModelProto.",
        )
    try:
        return onnx.load(str(model))
    except Exception as error:  # protobuf's own classes differ by version
        raise ModelError(f"{model} is no ONNX file: {error}.", help="export it anew.") from error


def is_ensemble(model: Any) -> bool:
    """Whether a file holds an ensemble of trees."""
    return any(node.op_type in KINDS for node in opened(model).graph.node)


def read_ensemble(model: Any) -> Ensemble:
    """The ensemble of a file.

    Raises:
        ModelError: there is none, or the file is damaged.
        UnsupportedOperatorError: other nodes that compute, or a form that is not supported.
    """
    graph = opened(model).graph
    found = [node for node in graph.node if node.op_type in KINDS]
    others = [node for node in graph.node if node.op_type not in (*KINDS, *_AROUND)]
    if len(found) != 1:
        raise ModelError(
            f"The file has {len(found)} ensembles of trees, and from_trees reads one.",
            help="export one gradient-boosted or random forest, as skl2onnx does.",
        )
    if others:
        raise UnsupportedOperatorError(
            f"Node {others[0].name!r} is {others[0].op_type} beside an ensemble of trees.",
            help="export the ensemble alone, and scale its inputs before: trees need no scaling.",
        )
    attributes = {a.name: load("onnx").helper.get_attribute_value(a) for a in found[0].attribute}
    return _Reader(found[0], attributes).ensemble()


class _Reader:
    """The attributes of a node as trees."""

    def __init__(self, node: Any, attributes: dict[str, Any]) -> None:
        self.node, self.given = node, attributes
        self.word = KINDS[node.op_type]

    def refused(self, why: str, help: str) -> UnsupportedOperatorError:
        """The error for a form that is not supported."""
        return UnsupportedOperatorError(
            f"Node {self.node.name!r} is {self.node.op_type} {why}.", help=help
        )

    def ensemble(self) -> Ensemble:
        """Read."""
        given = self.given
        tensors = [name for name in given if name.endswith("as_tensor")]
        if tensors:
            raise self.refused(
                f"with {tensors[0]}", "float32, which skl2onnx writes of float inputs."
            )
        if given.get("aggregate_function", b"SUM") != b"SUM":
            raise self.refused(
                f"with aggregate_function={given['aggregate_function'].decode()}",
                "SUM is supported.",
            )
        results, weights = self._weights()
        nodes: dict[int, dict[int, tuple[Any, ...]]] = {}
        columns = ("modes", "featureids", "values", "truenodeids", "falsenodeids")
        rows = zip(*(given[f"nodes_{name}"] for name in columns), strict=True)
        places = zip(given["nodes_treeids"], given["nodes_nodeids"], strict=True)
        for (tree, number), row in zip(places, rows, strict=True):
            nodes.setdefault(tree, {})[number] = row
        trees: list[list[Any]] = [[] for _ in range(results)]
        for tree, rows_of in nodes.items():
            for result, leaves in sorted(weights.get(tree, {}).items()):
                trees[result].append(self._tree(rows_of, leaves, min(rows_of), 0))
        bases = list(given.get("base_values") or [0.0] * results)
        if len(bases) == results - 1:  # a score of two classes
            bases = [0.0, *bases]
        features = max(given["nodes_featureids"]) + 1
        if self._all_positive and self._is_pair:
            bases[1] -= 0.5
        return Ensemble(self.node.name, self.node.op_type, features, results, bases, trees)

    @property
    def _is_pair(self) -> bool:
        """Whether one score says which of two classes it is."""
        given = self.given
        labels = given.get("classlabels_int64s") or given.get("classlabels_strings") or []
        return self.word == "class" and len(labels) == 2 and len(set(given["class_ids"])) == 1

    @property
    def _all_positive(self) -> bool:
        """Whether the score is a share, of which more than a half is the second class."""
        return all(weight >= 0 for weight in self.given[f"{self.word}_weights"])

    def _weights(self) -> tuple[int, dict[int, dict[int, dict[int, float]]]]:
        """How many results there are, and of each tree what its leaves give to each of them."""
        given, word = self.given, self.word
        labels = given.get("classlabels_int64s") or given.get("classlabels_strings") or []
        results = given.get("n_targets", 1) if word == "target" else len(labels)
        found: dict[int, dict[int, dict[int, float]]] = {}
        columns = (given[f"{word}_{name}"] for name in ("treeids", "nodeids", "ids", "weights"))
        for tree, node, result, weight in zip(*columns, strict=True):
            number = 1 if self._is_pair else result
            mine = found.setdefault(tree, {}).setdefault(number, {})
            mine[node] = mine.get(node, 0.0) + weight
        return results, found

    def _tree(self, rows: dict[int, Any], leaves: dict[int, float], number: int, depth: int) -> Any:
        """A node and what is below it."""
        if number not in rows or depth > len(rows):
            raise ModelError(
                f"Node {self.node.name!r} has a tree whose node {number} is missing, or its own ancestor.",
                help="the file is damaged: export it anew.",
            )
        mode, feature, value, yes, no = rows[number]
        kind = mode.decode()
        if kind == _LEAF:
            return leaves.get(number, 0.0)
        below, above = (self._tree(rows, leaves, n, depth + 1) for n in (yes, no))
        if kind in _FLIPPED:
            kind, below, above = _FLIPPED[kind], above, below
        if kind not in ("BRANCH_LEQ", "BRANCH_LT"):
            raise self.refused(f"with a branch {kind}", "comparisons with <=, <, > and >= are.")
        return kind, feature, value, below, above


def _leaves(tree: Any) -> Any:
    if not isinstance(tree, tuple):
        yield tree
        return
    yield from _leaves(tree[3])
    yield from _leaves(tree[4])


def quantised(tree: Any, step: float, bounds: tuple[int, int] | None, unit: float) -> Tree:
    """A tree of leaves that are multiples of a step; of integer inputs, limits are integers.

    Args:
        tree: as the file has it.
        step: of the leaves.
        bounds: the least and the greatest input; None where inputs are of float32.
        unit: what an input of 1 stands for.
    """
    if not isinstance(tree, tuple):
        return int(round(tree / step))
    kind, feature, value, below, above = tree
    first, second = (quantised(part, step, bounds, unit) for part in (below, above))
    if bounds is None:
        limit = value if kind == "BRANCH_LEQ" else _before(value)
        return Split(feature, limit, first, second)
    if not isfinite(value):
        return first if value > 0 else second
    level = Fraction(value) / Fraction(unit)
    whole = floor(level) if kind == "BRANCH_LEQ" else ceil(level) - 1
    if whole >= bounds[1]:
        return first
    return second if whole < bounds[0] else Split(feature, whole, first, second)


def _before(value: float) -> float:
    """The greatest number of float32 below another one."""
    return float(np.nextafter(np.float32(value), np.float32("-inf")))
