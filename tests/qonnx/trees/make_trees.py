"""Makes the files of this folder anew: ensembles that scikit-learn trains on its digits, by skl2onnx.

uv run --with scikit-learn==1.9.1 --with skl2onnx==1.20.0 python make_trees.py FOLDER

``trees.zip`` holds the ONNX files; ``digits.npz`` the pixels of all 1,797 images (0 to 16), and of each
classifier its own labels of all of them and its scores of the first 100.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.datasets import load_digits
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)

SETS = {"": 17, "ai.onnx.ml": 3}
TRAINED = 1200


def boosted(rounds: int, depth: int) -> Any:
    """Gradient-boosted trees."""
    return GradientBoostingClassifier(
        n_estimators=rounds, max_depth=depth, learning_rate=0.5, max_features=16, random_state=0
    )


def main(folder: Path) -> None:
    """Train, export, write."""
    pixels, labels = load_digits(return_X_y=True)
    forest = RandomForestClassifier(n_estimators=4, max_depth=4, random_state=0)
    pair = GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0)
    models = {
        "small": (boosted(3, 3), labels),
        "large": (boosted(10, 4), labels),
        "forest": (forest, labels),
        "pair": (pair, labels > 4),
        "value": (GradientBoostingRegressor(n_estimators=3, max_depth=3, random_state=0), labels),
    }
    kept: dict[str, Any] = {"pixels": pixels.astype(np.uint8), "digits": labels.astype(np.uint8)}
    with zipfile.ZipFile(folder / "trees.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (model, wanted) in models.items():
            model.fit(pixels[:TRAINED], wanted[:TRAINED])
            options = {id(model): {"zipmap": False}} if hasattr(model, "classes_") else None
            kinds = [("x", FloatTensorType([None, 64]))]
            made = to_onnx(model, initial_types=kinds, options=options, target_opset=SETS)
            archive.writestr(f"{name}.onnx", made.SerializeToString())
            kept[f"{name}_labels"] = model.predict(pixels).astype(np.float32)
            scores = getattr(
                model, "decision_function", getattr(model, "predict_proba", model.predict)
            )
            kept[f"{name}_scores"] = scores(pixels[:100]).astype(np.float32)
    np.savez_compressed(folder / "digits.npz", **kept)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
