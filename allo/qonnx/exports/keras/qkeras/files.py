"""Files that Keras 2 writes: HDF5, the ``.keras`` archive, and a configuration beside weights."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from allo.dialects.diagnostics import ModelError
from allo.dialects.processes.extras import load_extra

from ....reading import Array
from .network import Network, network, short

_FORMS = "save it by model.save('network.h5') in Keras 2, or by model.to_json() and model.save_weights()."
_NAMES = {
    "QBatchNormalization": ("gamma", "beta"),
    "BatchNormalization": ("gamma", "beta"),
    "batchnorm": ("gamma", "beta"),
    "QDepthwiseConv2D": ("depthwise_kernel", "bias"),
    "QDepthwiseConv2DBatchnorm": ("depthwise_kernel", "bias"),
    "QSeparableConv1D": ("depthwise_kernel", "pointwise_kernel", "bias"),
    "QSeparableConv2D": ("depthwise_kernel", "pointwise_kernel", "bias"),
}
"""The weights of a layer in their order, which is all that a ``.keras`` archive says of them."""


def opened(path: Path) -> Network:
    """The network of a file.

    Raises:
        ToolMissingError: h5py is not installed; the extra ``qkeras`` brings it.
        ModelError: no such file, or none of Keras 2.
    """
    if not path.is_file():
        raise ModelError(
            f"There is no file {str(path)!r}.", help="give the path of a .h5, .keras or .json file."
        )
    if path.suffix == ".json":
        return _beside(path)
    if zipfile.is_zipfile(path):
        return _archive(path)
    h5py = _h5py()
    if not h5py.is_hdf5(path):
        raise ModelError(f"{str(path)!r} is no file of a Keras model.", help=_FORMS)
    with h5py.File(path, "r") as file:
        if "model_config" not in file.attrs:
            raise ModelError(
                f"{str(path)!r} has weights, and not the layers that they belong to.",
                help=f"write model.to_json() to {path.with_suffix('.json').name!r} and give that path.",
            )
        made = json.loads(_text(file.attrs["model_config"]))
        return _network(path, made, _weights(file["model_weights"], made))


def _beside(path: Path) -> Network:
    made = json.loads(path.read_text())
    found = [path.with_suffix(end) for end in (".h5", ".weights.h5", ".hdf5")]
    weights = next((p for p in found if p.is_file()), None)
    if weights is None:
        raise ModelError(
            f"There are no weights beside {str(path)!r}.",
            help=f"write them by model.save_weights({found[0].name!r}).",
        )
    with _h5py().File(weights, "r") as file:
        return _network(path, made, _weights(file.get("model_weights", file), made))


def _network(path: Path, made: Mapping[str, Any], weights: Any) -> Network:
    version = str(made.get("keras_version", "2"))
    if "config" not in made or version.startswith("3"):
        raise ModelError(
            f"{str(path)!r} is no file of Keras 2"
            + (f", but of Keras {version}." if "config" in made else "."),
            help="load a network of HGQ2 in Keras 3 and give the model; for QKeras, " + _FORMS,
        )
    return network(made["class_name"], made["config"], weights)


def _weights(root: Any, made: Mapping[str, Any]) -> dict[str, dict[str, Array]]:
    """The weights of each layer, by its name, in either of the two forms that Keras 2 has."""
    if "layer_names" in root.attrs:
        found = {}
        for name in map(_text, root.attrs["layer_names"]):
            group = root[name]
            paths = [_text(entry) for entry in group.attrs["weight_names"]]
            found[name] = {short(p): np.asarray(group[p]) for p in paths}
        return found
    layers = root.get("layers", root.get("_layer_checkpoint_dependencies"))
    if layers is None:
        raise ModelError(
            "The HDF5 file has no weights by layer, as Keras 2 writes them.", help=_FORMS
        )
    config = made.get("config", {})
    counts: dict[str, int] = {}
    found = {}
    for entry in config["layers"] if isinstance(config, Mapping) else config:
        place = _snake(entry["class_name"])
        number = counts[place] = counts.get(place, -1) + 1
        group = layers.get(f"{place}_{number}" if number else place)
        if group is not None:
            found[entry["config"]["name"]] = _numbered(group, entry["class_name"], entry)
    return found


def _archive(path: Path) -> Network:
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        if not {"config.json", "metadata.json", "model.weights.h5"} <= names:
            raise ModelError(f"{str(path)!r} is no archive of a Keras model.", help=_FORMS)
        made = json.loads(archive.read("config.json"))
        made |= {"keras_version": json.loads(archive.read("metadata.json"))["keras_version"]}
        stored = io.BytesIO(archive.read("model.weights.h5"))
    with _h5py().File(stored, "r") as file:
        return _network(path, made, _weights(file, made))


def _numbered(group: Any, kind: str, entry: Mapping[str, Any]) -> dict[str, Array]:
    """The weights of a layer that are stored by number, with names."""
    stored = [np.asarray(group["vars"][key]) for key in sorted(group["vars"], key=int)]
    found = dict(zip(_given(kind, entry["config"]), stored, strict=False))
    if "batchnorm" in group:
        part = group["batchnorm"]["vars"]
        stored = [np.asarray(part[key]) for key in sorted(part, key=int)]
        found |= dict(zip(_given("batchnorm", entry["config"]), stored, strict=False))
    return found


def _given(kind: str, config: Mapping[str, Any]) -> list[str]:
    """The names of the weights that a layer has, in their order."""
    absent = {"use_bias": "bias", "center": "beta", "scale": "gamma"}
    without = {name for key, name in absent.items() if config.get(key) is False}
    names = [n for n in _NAMES.get(kind, ("kernel", "bias")) if n not in without]
    return [*names, "moving_mean", "moving_variance"] if "gamma" in _NAMES.get(kind, ()) else names


def _snake(kind: str) -> str:
    """The name that Keras makes of a class: ``q_conv2d`` of ``QConv2D``."""
    parts = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", kind)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", parts).lower()


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _h5py() -> Any:
    return load_extra(
        "h5py",
        "h5py cannot be imported, and a file of Keras cannot be read without it.",
        'run `pip install "allo[qkeras]"`; in a checkout, run `scripts/setup`.',
    )
