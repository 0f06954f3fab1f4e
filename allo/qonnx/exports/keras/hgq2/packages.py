"""The one place that imports Keras 3 and HGQ2, which are an optional extra."""

from __future__ import annotations

from typing import Any

import numpy as np

from allo.dialects.processes.extras import load_extra

from ....reading import Array


def load(name: str) -> Any:
    """A module of Keras or HGQ2.

    Raises:
        ToolMissingError: when it is not installed; the message names the extra that brings it.
    """
    return load_extra(
        name,
        f"{name} cannot be imported, and a network of Keras cannot be read without it.",
        'run `pip install "allo[keras]"` and install a backend of Keras, such as torch; in a checkout, '
        "run `scripts/setup --torch` and set KERAS_BACKEND=torch.",
    )


def array(tensor: Any) -> Array:
    """A tensor of Keras's backend in NumPy."""
    return np.asarray(load("keras").ops.convert_to_numpy(tensor))
