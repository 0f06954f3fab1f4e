"""Put a trained draft head into the tree, int8 with a step for each output (see ``prepare.py``).

scripts/python scripts/language_model/draft/finish.py out/draft

``int8.npz`` in the folder holds the same, which ``train.py --head`` measures.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from allo.designs.llm.checkpoints.files import write_tensors
from allo.designs.llm.checkpoints.quantize import quantize_rows
from allo.designs.llm.draft.head import SMOLLM2_HEAD


def main() -> int:
    """Read ``head.npz`` and write the file."""
    found: dict[str, np.ndarray] = {}
    for name, value in np.load(Path(sys.argv[1]) / "head.npz").items():
        whole = value.astype(np.float32)
        if whole.ndim == 1:
            found[name] = whole
            continue
        found[name], steps = quantize_rows(whole)
        found[f"{name}_scale"] = steps[:, None].astype(np.float32)
    np.savez(Path(sys.argv[1]) / "int8.npz", **found)
    SMOLLM2_HEAD.parent.mkdir(parents=True, exist_ok=True)
    write_tensors(SMOLLM2_HEAD, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
