"""A network of Keras 2: its configuration, as a file or a model has it, and the weights of each layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from allo.dialects.diagnostics import ModelError

from ....reading import Array

_ABSENT = {
    "activation": None,
    "data_format": "channels_last",
    "groups": 1,
    "keepdims": False,
    "max_value": None,
    "negative_slope": 0.0,
    "threshold": 0.0,
}
"""What older versions of Keras 2 do not write, and what it is then."""

Tensor = tuple[str, int, int]
"""A layer, which of its calls, and which of its results."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer; the entries of its configuration are attributes.

    Attributes:
        name: in the network.
        kind: its class, such as ``QDense``.
        config: its configuration.
        weights: by the last part of their names, such as ``kernel``.
    """

    name: str
    kind: str
    config: Mapping[str, Any]
    weights: Mapping[str, Array]

    def __getattr__(self, name: str) -> Any:
        if name in self.config:
            return self.config[name]
        if name in _ABSENT:
            return _ABSENT[name]
        raise AttributeError(f"layer {self.name!r} of {self.kind} has no {name!r}")


@dataclass(frozen=True, slots=True)
class Call:
    """A layer applied to tensors."""

    layer: Layer
    tensor: Tensor
    inputs: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Network:
    """A network.

    Attributes:
        name: of the model.
        calls: in an order in which they can run; those of ``InputLayer`` have no inputs.
        inputs, outputs: the tensors that the model takes and gives.
    """

    name: str
    calls: tuple[Call, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


Weights = Mapping[str, Mapping[str, Array]]


def network(kind: str, config: Any, weights: Weights) -> Network:
    """A network from a configuration.

    Args:
        kind: the class of the model.
        config: what its ``get_config`` gives.
        weights: of each layer, by its name.

    Raises:
        ModelError: a class of one's own, or no shape of the inputs.
    """
    if kind == "Sequential":
        return _sequential(config, weights)
    if isinstance(config, Mapping) and "output_layers" in config:
        return _functional(config, weights)
    raise ModelError(
        f"A model of the class {kind} has no graph of layers in its configuration.",
        help="make it a Sequential, or a Model of its inputs and outputs, and save it again.",
    )


def taken(model: Any) -> Network:
    """The network of a model, as the model itself tells it.

    Raises:
        ModelError: a model that is not built, or that has no graph of layers.
    """
    weights = {}
    for layer in getattr(model, "layers", ()):
        held = zip(layer.weights, layer.get_weights(), strict=False)
        weights[layer.name] = {short(w.name): np.asarray(array) for w, array in held}
    return network(type(model).__name__, model.get_config(), weights)


def short(name: str) -> str:
    """The last part of a weight's name: ``kernel`` of ``dense/kernel:0``."""
    return name.rpartition("/")[2].partition(":")[0]


def _layer(entry: Mapping[str, Any], weights: Weights) -> Layer:
    config = entry["config"]
    name = config.get("name") or entry.get("name", "")
    dtype = config.get("dtype", "float32")
    if isinstance(dtype, Mapping):
        dtype = dtype.get("config", {}).get("name", "float32")
    if dtype not in ("float32", None):
        raise ModelError(
            f"Layer {name!r} computes in {dtype}, and its results in float32 would be others.",
            help="build the model with the policy float32, and load its weights.",
        )
    return Layer(name, entry["class_name"], config, weights.get(name, {}))


def _sequential(config: Any, weights: Weights) -> Network:
    entries = config if isinstance(config, Sequence) else config["layers"]
    name = "sequential" if isinstance(config, Sequence) else config.get("name", "sequential")
    layers = [_layer(entry, weights) for entry in entries]
    if not layers:
        raise ModelError(f"The model {name!r} has no layers.")
    if layers[0].kind != "InputLayer":
        shape = layers[0].config.get("batch_input_shape")
        if shape is None and isinstance(config, Mapping):
            shape = config.get("build_input_shape")
        if shape is None:
            raise ModelError(
                f"The model {name!r} does not say the shape of its inputs.",
                help="begin with keras.layers.Input((16,)), or give the first layer an input_shape.",
            )
        layers.insert(0, Layer("input", "InputLayer", {"batch_input_shape": shape}, {}))
    tensors = [(layer.name, 0, 0) for layer in layers]
    before: list[tuple[Tensor, ...]] = [(), *((tensor,) for tensor in tensors[:-1])]
    calls = tuple(map(Call, layers, tensors, before))
    return Network(name, calls, (tensors[0],), (tensors[-1],))


def _functional(config: Mapping[str, Any], weights: Weights) -> Network:
    waiting: list[Call] = []
    for entry in config["layers"]:
        layer = _layer(entry, weights)
        nodes = entry["inbound_nodes"] or [[]]
        for number, node in enumerate(nodes):
            tensor = (layer.name, number, 0)
            waiting.append(Call(layer, tensor, tuple(_inputs(layer, node))))
    calls: list[Call] = []
    made: set[Tensor] = set()
    while waiting:
        ready = [call for call in waiting if made.issuperset(call.inputs)]
        if not ready:
            stuck = waiting[0]
            raise ModelError(
                f"Layer {stuck.layer.name!r} reads {stuck.inputs}, which nothing makes."
            )
        made.update(call.tensor for call in ready)
        calls += ready
        waiting = [call for call in waiting if call.tensor not in made]
    return Network(
        config.get("name", "model"),
        tuple(calls),
        tuple(_ends(config["input_layers"])),
        tuple(_ends(config["output_layers"])),
    )


def _inputs(layer: Layer, node: Any) -> list[Tensor]:
    """Of one call: ``[["conv", 0, 0, {}], …]``."""
    found = []
    for entry in node:
        if not isinstance(entry, Sequence) or not isinstance(entry[0], str):
            raise ModelError(
                f"Layer {layer.name!r} is called with something else than tensors.",
                help="call layers of the model with the results of other layers.",
            )
        found.append((entry[0], int(entry[1]), int(entry[2])))
    return found


def _ends(entries: Sequence[Any]) -> list[Tensor]:
    """Of ``[["input_1", 0, 0]]``, or of one such entry alone."""
    if entries and isinstance(entries[0], str):
        entries = [entries]
    return [(entry[0], int(entry[1]), int(entry[2])) for entry in entries]
