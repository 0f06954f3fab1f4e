"""Ensembles of trees that scikit-learn trained on its digits: its labels and scores, in hardware too."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from allo.cli import main
from allo.errors import ModelError, UnsupportedOperatorError
from allo.frontend import from_trees
from allo.ir.types import UInt, uint8
from allo.qonnx.trees.entry import evaluator

FOLDER = Path(__file__).parent / "trees"
DIGITS = np.load(FOLDER / "digits.npz")
PIXELS = DIGITS["pixels"]
STEP = {"step": 1 / 16, "accept_error": 0.25}


def model(name: str) -> Any:
    with zipfile.ZipFile(FOLDER / "trees.zip") as archive:
        return onnx.load_from_string(archive.read(f"{name}.onnx"))


def changed(name: str, **attributes: Any) -> Any:
    """A file with other attributes of its ensemble."""
    found = model(name)
    (node,) = [n for n in found.graph.node if n.op_type.startswith("Tree")]
    kept = [a for a in node.attribute if a.name not in attributes]
    del node.attribute[:]
    made = [onnx.helper.make_attribute(key, value) for key, value in attributes.items()]
    node.attribute.extend([*kept, *made])
    return found


def scores(name: str, count: int, **options: Any) -> np.ndarray:
    given: dict[str, Any] = {**STEP, **options}
    module = from_trees(model(name), samples=count, **given)
    kind = np.float32 if "input_type" not in options else np.uint8
    return np.asarray(module(PIXELS[:count, None].astype(kind)))[:, 0] * given["step"]


def test_labels_of_all_digits_are_those_of_scikit_learn() -> None:
    module = from_trees(model("small"), samples=len(PIXELS), step=2**-12, accept_error=0.01)
    found = np.asarray(module(PIXELS[:, None].astype(np.float32)))[:, 0]
    np.testing.assert_array_equal(found.argmax(1), DIGITS["small_labels"])
    assert abs(found[:100] * 2**-12 - DIGITS["small_scores"]).max() < 0.01


def test_all_digits_in_hardware() -> None:
    count = len(PIXELS)
    s = from_trees(model("small"), input_type=UInt(5), samples=count, target="mlir", **STEP)
    module = s.build(target="verilog", simulator="jit", device="xcup", clock_mhz=300)
    found = np.asarray(module(PIXELS[:, None]))[:, 0]
    np.testing.assert_array_equal(found, np.asarray(s.build()(PIXELS[:, None]))[:, 0])
    assert (found.argmax(1) == DIGITS["small_labels"]).mean() > 0.99
    weights = [round(w * 16) / 16 for w in _attribute("small", "class_weights")]
    bases = [round(w * 16) / 16 for w in _attribute("small", "base_values")]
    run = evaluator(
        changed("small", class_weights=weights, base_values=bases, post_transform="NONE")
    )
    np.testing.assert_array_equal(found[:100] / 16, [run(pixels)[0][0] for pixels in PIXELS[:100]])
    assert module.cycles == module.report.cycles < count + 16  # a sample in each cycle
    moved = np.asarray(module(np.minimum(PIXELS[:, None] + 1, 31)))[:, 0]
    assert (moved != found).any()


@pytest.mark.parametrize("options", [{}, {"input_type": uint8}, {"input_type": (uint8, 1.0)}])
def test_inputs_of_floats_and_of_integers(options: dict[str, Any]) -> None:
    found = scores("value", 100, **options)
    assert abs(found[:, 0] - DIGITS["value_scores"]).max() < 0.25


def test_a_unit_of_the_input_is_that_of_its_thresholds() -> None:
    module = from_trees(model("value"), samples=100, input_type=(uint8, 0.5), **STEP)
    found = np.asarray(module(PIXELS[:100, None] * 2))
    np.testing.assert_array_equal(found[:, 0] / 16, scores("value", 100))


def test_forests_and_pairs_of_classes() -> None:
    forest, pair = (scores(name, 100, step=2**-10) for name in ("forest", "pair"))
    assert abs(forest - DIGITS["forest_scores"]).max() < 0.01
    np.testing.assert_array_equal(pair.argmax(1), DIGITS["pair_labels"][:100])
    assert abs(pair[:, 1] - DIGITS["pair_scores"]).max() < 0.01
    assert (pair[:, 0] == 0).all()


@pytest.mark.parametrize("mode", ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE"])
def test_comparisons_are_those_of_onnx(mode: str) -> None:
    modes = _attribute("value", "nodes_modes")
    values = [float(int(v)) for v in _attribute("value", "nodes_values")]  # where pixels are equal
    kinds = [mode.encode() if m != b"LEAF" else m for m in modes]
    made = changed("value", nodes_modes=kinds, nodes_values=values)
    run = evaluator(made)
    expected = np.array([run(pixels)[0].reshape(-1) for pixels in PIXELS[:60]])
    for options, kind in (({}, np.float32), ({"input_type": uint8}, np.uint8)):
        module = from_trees(made, samples=60, **STEP, **options)
        found = np.asarray(module(PIXELS[:60, None].astype(kind)))[:, 0] / 16
        assert abs(found - expected).max() < 0.25
        assert len(np.unique(found)) > 5


def _attribute(name: str, wanted: str) -> Any:
    (node,) = [n for n in model(name).graph.node if n.op_type.startswith("Tree")]
    (found,) = [a for a in node.attribute if a.name == wanted]
    return onnx.helper.get_attribute_value(found)


def test_leaves_that_a_step_does_not_keep() -> None:
    with pytest.raises(
        ModelError, match=r"no multiples of a power of two: with steps of"
    ) as caught:
        from_trees(model("small"))
    step, error = str(caught.value).split("accept that by step=")[1].split(", or")[0].split(", ")
    from_trees(model("small"), step=float(step), accept_error=float(error.split("=")[1]))
    with pytest.raises(ModelError, match="no multiples of the step 0.5: .* differs by up to"):
        from_trees(model("small"), step=0.5, accept_error=0.01)
    leaves = [round(w * 4) / 4 for w in _attribute("value", "target_weights")]
    exact = changed("value", target_weights=leaves, base_values=[4.5])
    run, module = evaluator(exact), from_trees(exact)
    np.testing.assert_array_equal(
        [np.asarray(module(p[None].astype(np.float32)))[0] / 4 for p in PIXELS[:20]],
        [run(p)[0][0] for p in PIXELS[:20]],
    )


MODES = [b"BRANCH_EQ" if m != b"LEAF" else m for m in _attribute("value", "nodes_modes")]


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ({"aggregate_function": "MAX"}, "TreeEnsembleRegressor with aggregate_function=MAX"),
        ({"nodes_modes": MODES}, "with a branch BRANCH_EQ"),
    ],
)
def test_forms_that_are_refused(attributes: dict[str, Any], why: str) -> None:
    with pytest.raises(UnsupportedOperatorError, match=why):
        from_trees(changed("value", **attributes), **STEP)


def test_files_without_an_ensemble(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="There is no ONNX file"):
        from_trees(tmp_path / "none.onnx")
    empty = onnx.helper.make_model(onnx.helper.make_graph([], "none", [], []))
    with pytest.raises(ModelError, match="has 0 ensembles of trees") as caught:
        from_trees(empty)
    assert "as skl2onnx does" in str(caught.value)
    broken = changed("value", nodes_truenodeids=[99] * 45)
    with pytest.raises(ModelError, match="node 99 is missing, or its own ancestor"):
        from_trees(broken, **STEP)


def test_the_command_reads_an_ensemble(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pair.onnx"
    onnx.save(model("pair"), str(path))
    np.savez(
        tmp_path / "data.npz", x=PIXELS[:8].astype(np.float32), labels=DIGITS["digits"][:8] > 4
    )
    command = ["network", str(path), "--data", str(tmp_path / "data.npz"), "--simulate", "2"]
    assert main(command) == 0
    assert "ONNX's evaluator" in capsys.readouterr().out
