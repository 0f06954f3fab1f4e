"""``allo network``: a trained network in its interpreter, on the CPU and in hardware."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from allo.cli import main
from allo.designs.quantised.digits import CLASSES, glyph, images
from allo.designs.quantised.perceptron import Perceptron, exported, trained
from allo.dialects.diagnostics import ModelError
from allo.frontend import from_qonnx
from allo.models.trial import Trial, try_network
from allo.qonnx.executor import executor, float_activations

from .support import Network


@pytest.fixture(scope="module")
def net() -> Perceptron:
    return trained(*images(1500, seed=1), hidden=(16,))


@pytest.fixture(scope="module")
def file(net: Perceptron, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trial") / "digits.onnx"
    onnx.save(exported(net), str(path))
    return path


def tried(file: Path, count: int, simulate: int) -> Trial:
    pixels, labels = images(count, seed=2)
    s = from_qonnx(file, target="mlir")
    judges = {"executor": executor(file)}
    calls = [[image[None]] for image in pixels]
    options = {"simulate": simulate, "device": "xcup", "clock_mhz": 200.0}
    return try_network(s, judges, calls, labels, **options)


def test_training_finds_the_digits(net: Perceptron) -> None:
    pixels, labels = images(500, seed=3)
    assert len({glyph(digit).tobytes() for digit in range(CLASSES)}) == CLASSES
    assert (net.scores(pixels).argmax(1) == labels).mean() > 0.95


def test_the_file_computes_what_was_trained(net: Perceptron, file: Path) -> None:
    pixels, _ = images(30, seed=4)
    run = executor(file)
    found = np.concatenate([run(image[None])[0] for image in pixels])
    np.testing.assert_array_equal(
        found, net.scores(pixels)
    )  # sums of small powers of two are exact


def test_float_activations_are_not_rounded(net: Perceptron, file: Path) -> None:
    run = float_activations(file)
    assert run is not None
    image = images(1, seed=5)[0]
    hidden = np.maximum(image @ net.quantised(0), 0)
    np.testing.assert_allclose(run(image)[0], hidden @ net.quantised(1), rtol=1e-5)


def test_one_bit_has_no_float_activations() -> None:
    made = Network()
    x = made("BipolarQuant", made.input(1, 4), 1.0)
    assert float_activations(made.model(made("MatMul", x, np.ones((4, 2))))) is None


def test_a_trial_says_what_hardware_computes(file: Path) -> None:
    trial = tried(file, 20, 4)
    rows = {row.name: row for row in trial.accuracy.rows}
    assert trial.is_right
    assert (trial.equal, trial.simulated) == (4, 4)
    assert rows["CPU"].agreement == rows["hardware, simulated, 4 samples"].agreement == 1.0
    assert rows["CPU"].accuracy == rows["executor"].accuracy
    assert trial.cycles == trial.predicted
    assert [layer.path for layer in trial.layers] == ["pixels", "product_0", "layer_0", "product_1"]
    assert trial.to_dict()["samples_per_second"] == pytest.approx(200e6 / trial.cycles)


def test_hardware_that_differs_is_counted(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from allo.backend.sim.module import RTLModule

    plain = RTLModule.__call__
    monkeypatch.setattr(RTLModule, "__call__", lambda self, *x: plain(self, *x) + np.float32(1))
    trial = tried(file, 3, 2)
    assert (trial.equal, trial.is_right) == (0, False)


def test_the_command_writes_what_it_shows(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pixels, labels = images(10, seed=6)
    data, out = tmp_path / "digits.npz", tmp_path / "out.json"
    np.savez(data, image=pixels, labels=labels)
    command = ["network", str(file), "--data", str(data), "--simulate", "1", "-o", str(out)]
    assert main(command) == 0
    found = json.loads(out.read_text())
    assert found["equal"] == found["simulated"] == 1
    assert f"{found['cycles']:,}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"image": np.zeros((2, 63))}, "has the shape [63], and the input of the network [1, 64]."),
        ({"a": np.zeros((2, 64)), "b": np.zeros(2)}, "has 2 inputs, and the network 1."),
        ({"image": np.zeros((2, 64)), "labels": [1]}, "There are 1 labels for 2 samples."),
        ({"image": np.zeros((0, 64))}, "There are no samples."),
    ],
)
def test_data_that_do_not_fit(
    file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arrays: dict[str, np.ndarray],
    message: str,
) -> None:
    np.savez(tmp_path / "data.npz", **arrays)
    assert main(["network", str(file), "--data", str(tmp_path / "data.npz")]) == 1
    shown = capsys.readouterr().err
    assert message in shown
    assert "help: " in shown


def test_files_of_other_kinds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["network", str(tmp_path / "net.h5")]) == 1
    assert "net.h5 is of no known kind." in capsys.readouterr().err
    with pytest.raises(ModelError, match="There is no QONNX file"):
        executor(tmp_path / "net.onnx")
