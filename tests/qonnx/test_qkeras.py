"""Networks of QKeras, from files that QKeras and Keras 2 wrote: every result is that of their ``predict``.

``qkeras/make_qkeras.py`` made the files.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.core.onnx_exec import execute_onnx
from qonnx.transformation.infer_shapes import InferShapes

from allo.errors import ModelError, UnsupportedOperatorError
from allo.frontend import from_keras
from allo.qonnx.exports.keras.entry import exported
from allo.qonnx.exports.keras.qkeras.constants import stored
from allo.qonnx.exports.keras.qkeras.network import Layer
from allo.qonnx.exports.keras.qkeras.specs import spec_of, trained
from allo.qonnx.exports.keras.qkeras.writing import QWriter

from .support import Pair

MADE = Path(__file__).parent / "qkeras"
EXPECTED = np.load(MADE / "expected.npz")
SINGLE = np.load(MADE / "quantisers.npz")
NETWORKS = sorted({key.partition("/")[0] for key in EXPECTED})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("qkeras")
    zipfile.ZipFile(MADE / "networks.zip").extractall(folder)
    return folder


def of(name):
    return EXPECTED[f"{name}/x"], EXPECTED[f"{name}/y"]


def equal(name, ours, theirs):
    """All bits where scales are powers of two; behind a softmax and real scales, float32's rounding."""
    if name == "real":
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-7)
        return
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_result_is_that_of_predict(name, files):
    """The graph of levels in its exact reference, which the hardware is compared with below."""
    x, y = of(name)
    pair = Pair(exported(files / f"{name}.h5").model())
    equal(name, np.concatenate([pair.reference(one[None])[0] for one in x]), y)


@pytest.mark.parametrize("name", ["signs", "jets", "norms", "residual", "depthwise"])
def test_hardware_has_the_results_of_predict(name, files):
    x, y = of(name)
    hardware = from_keras(files / f"{name}.h5", target="mlir").build(
        target="verilog", simulator="jit"
    )
    for one, expected in list(zip(x, y, strict=True))[:3]:
        np.testing.assert_array_equal(hardware(one[None]), expected[None])


def test_the_cpu_has_the_results_and_a_changed_weight_is_seen(files, tmp_path):
    x, y = of("digits")
    compiled = from_keras(str(files / "digits.h5"))
    np.testing.assert_array_equal(np.concatenate([compiled(one[None]) for one in x]), y)
    changed = tmp_path / "changed.h5"
    changed.write_bytes((files / "digits.h5").read_bytes())
    with h5py.File(changed, "r+") as file:
        last = file["model_weights"][sorted(file["model_weights"])[-2]]
        kernel = last[last.attrs["weight_names"][0]]
        kernel[:] = np.roll(kernel[:], 1, 0)
    pair = Pair(exported(changed).model())
    ours = np.concatenate([pair.reference(one[None])[0] for one in x])
    assert not np.array_equal(ours, y)


# --- single quantisers --------------------------------------------------------------------------


@pytest.mark.parametrize("key", [key for key in SINGLE if key.startswith("x/")])
def test_a_quantiser_of_activations_has_the_values_of_qkeras(key):
    x, spec = SINGLE["x"], spec_of(key[2:])
    writer = QWriter()
    writer.layer = Layer("q", "QActivation", {}, {})
    name = writer.input("x", x.shape)
    writer.outputs = [writer.activated(name, spec)]
    model = ModelWrapper(writer.model()).transform(InferShapes())
    with np.errstate(all="ignore"):
        (ours,) = execute_onnx(model, {name: x[None]})[writer.outputs[0]]
    np.testing.assert_array_equal(ours, SINGLE[key])


@pytest.mark.parametrize("key", [key for key in SINGLE if key.startswith(("kernel/", "vector/"))])
def test_a_quantiser_of_weights_has_the_values_of_qkeras(key):
    of_what, _, text = key.partition("/")
    ours = stored(spec_of(text), SINGLE[of_what]).values
    if "'auto'" in text:  # a mean in float32, whose order of additions is TensorFlow's
        np.testing.assert_allclose(ours, SINGLE[key], rtol=2e-7, atol=0)
    else:
        np.testing.assert_array_equal(ours, SINGLE[key])


def test_a_quantiser_is_read_in_every_form():
    class quantized_relu:
        is_quantized_clip = False

        def get_config(self):
            return {"bits": np.int64(4), "integer": 1, "qnoise_factor": np.float32(1)}

    said = spec_of("quantized_relu(4, integer=1)")
    entry = {"class_name": "quantized_relu", "config": {"bits": 4, "integer": 1}}
    assert said == spec_of(entry)
    assert spec_of(quantized_relu()).given == {**said.given, "is_quantized_clip": False}
    assert spec_of({"class_name": "function", "config": "relu"}).kind == "relu"
    by_channel = {"class_name": "__numpy__", "config": {"value": [[1, 2]], "dtype": "float64"}}
    alpha = spec_of({"class_name": "binary", "config": {"alpha": by_channel}}).alpha
    np.testing.assert_array_equal(alpha, [[1, 2]])
    assert trained(spec_of("quantized_bits(4)")).alpha == "auto_po2"
    assert trained(spec_of("quantized_bits(4,alpha=1)")).alpha == 1


# --- forms of models ----------------------------------------------------------------------------


def graph(model):
    return exported(model).model().SerializeToString()


@pytest.mark.parametrize("file", ["norms.keras", "beside.json", "older.json"])
def test_all_forms_of_files_have_one_graph(file, files):
    assert graph(files / file) == graph(files / "norms.h5")


class Weight:
    def __init__(self, name):
        self.name = name


class Part:
    """A layer as Keras 2 has it, as far as it is asked."""

    def __init__(self, name, group):
        paths = [path for path in group.attrs["weight_names"]]
        self.name, self.weights = name, [Weight(path) for path in paths]
        self.held = [np.asarray(group[path]) for path in paths]

    def get_weights(self):
        return self.held


class Functional:
    """A model as Keras 2 has it, as far as it is asked: neither QKeras nor TensorFlow is imported."""

    def __init__(self, path):
        with h5py.File(path) as file:
            self.made = json.loads(file.attrs["model_config"])
            groups = file["model_weights"]
            self.layers = [Part(name, groups[name]) for name in groups.attrs["layer_names"]]

    def get_config(self):
        return self.made["config"]

    def get_weights(self):
        return [array for layer in self.layers for array in layer.get_weights()]


def test_a_model_itself_has_the_graph_of_its_file(files):
    assert graph(Functional(files / "residual.h5")) == graph(files / "residual.h5")


# --- what is refused ----------------------------------------------------------------------------


def entry(kind, **config):
    return {"class_name": kind, "config": {"name": "it", **config}}


def model(*layers, kind="Sequential", weights=None, shape=(None, 4)):
    """A model in a configuration, all of whose weights are the same."""

    class Whole:
        def get_config(self):
            first = {
                "class_name": "InputLayer",
                "config": {"name": "x", "batch_input_shape": shape},
            }
            return {"name": "net", "layers": [first, *layers]}

        def get_weights(self):
            return []

    Whole.__name__ = kind
    return Whole()


REFUSED = [
    (entry("QLSTM"), "Layer 'it' is QLSTM which is not supported.\nhelp: write from_qonnx"),
    (
        entry("HDenseBatchNorm"),
        "(?s)'it' is HDenseBatchNorm of HGQ's first.*layers on Keras 3, which",
    ),
    (entry("QDens"), "(?s)QDens which is not supported.*did you mean 'QDense'"),
    (
        entry("QActivation", activation="bernoulli(alpha=1)"),
        "with 'bernoulli', whose results depend on chance in each call",
    ),
    (
        entry("QActivation", activation="quantized_relu(4,1,use_stochastic_rounding=True)"),
        "(?s)which rounds by chance.*set use_stochastic_rounding=False, and save again",
    ),
    (
        entry("QActivation", activation="quantized_bits(4,0,alpha='auto')"),
        "(?s)whose scale follows from the data of each call.*alpha=1",
    ),
    (entry("QActivation", activation="quantized_rel(4)"), "(?s)'quantized_rel'.*'quantized_relu'"),
    (entry("QActivation", activation="quantized_relu(4,size=1)"), "'size', which is not known"),
    (entry("QActivation", activation="quantized_relu(a)"), "has settings that are no numbers"),
    (entry("QActivation", activation="quantized_po2(6)"), "from 2\\*\\*-16 to 2\\*\\*15"),
    (entry("QActivation", activation="ternary(threshold=0.0)"), "threshold is not above 0"),
    (entry("QActivation", activation="quantized_tanh(1)"), "of 1 bits.\nhelp: at least 2"),
    (
        entry("QActivation", activation="quantized_relu(2,0,negative_slope=0.25)"),
        "less than one level below 0",
    ),
]


@pytest.mark.parametrize(("layer", "message"), REFUSED)
def test_a_layer_or_quantiser_that_is_not_supported_says_what_would_do(layer, message):
    with pytest.raises(UnsupportedOperatorError, match=message):
        from_keras(model(layer))


def test_models_and_files_that_are_none_say_what_to_give(files, tmp_path):
    relu = entry("QActivation", activation="quantized_relu(4)")
    with pytest.raises(ModelError, match=r"A dict is no Keras model(?s:.*)give a model of QKeras"):
        from_keras({})
    with pytest.raises(ModelError, match="'net' has no quantiser"):
        from_keras(model(entry("ReLU")))
    with pytest.raises(ModelError, match="'x' has no fixed extent in dimension 1"):
        from_keras(model(relu, shape=(None, None, 3)))
    with pytest.raises(ModelError, match="class Mine has no graph of layers"):
        from_keras(model(relu, kind="Mine"))
    with pytest.raises(ModelError, match="'it' computes in float16"):
        from_keras(model(entry("QActivation", activation="relu", dtype="float16")))
    with pytest.raises(ModelError, match=r"'it' has no weights 'kernel'(?s:.*)build the model"):
        from_keras(model(entry("QDense", units=3)))
    with pytest.raises(ModelError, match="There is no file"):
        from_keras(tmp_path / "none.h5")
    text = tmp_path / "text.h5"
    text.write_text("no HDF5")
    with pytest.raises(ModelError, match="is no file of a Keras model"):
        from_keras(text)
    with pytest.raises(ModelError, match="has weights, and not the layers"):
        from_keras(files / "older.h5")
    (tmp_path / "alone.json").write_text((files / "older.json").read_text())
    with pytest.raises(ModelError, match="no weights beside(?s:.*)save_weights"):
        from_keras(tmp_path / "alone.json")
    newer = json.loads((files / "older.json").read_text()) | {"keras_version": "3.5.0"}
    (tmp_path / "newer.json").write_text(json.dumps(newer))
    (tmp_path / "newer.h5").write_bytes((files / "older.h5").read_bytes())
    with pytest.raises(ModelError, match="is no file of Keras 2, but of Keras 3.5.0"):
        from_keras(tmp_path / "newer.json")
