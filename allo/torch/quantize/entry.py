"""``quantize``: a PyTorch module and inputs for calibration, to a model of integers."""

from __future__ import annotations

from typing import Any

from ..exporting import KNOWN, export_model
from ..pt2e.convert import convert
from ..running import FloatModel, fold_fixed
from ..wheel import load_torch
from .inputs import samples_of
from .model import QuantizedModel
from .nodes import with_nodes
from .observe import Peaks
from .plan import Plan
from .rewrite import rewrite
from .smooth import migrate, migrated_norms
from .weights import scheme_named


def quantize(model: Any, calibration: Any, scheme: str = "w8a8") -> QuantizedModel:
    """Quantise a PyTorch model.

    Batch norms are folded into the weights before them. Behind a norm, channels that are large are made
    smaller and the weights larger (SmoothQuant). The scale of an activation is its largest magnitude
    in calibration over 127.

    Args:
        model: a ``torch.nn.Module`` in float32; it is taken as in ``model.eval()``.
        calibration: typical inputs: a list whose items are a tensor or a tuple of tensors, each the inputs of
            one call; or one tensor whose first dimension counts samples. All of one shape, which is
            that of the design.
        scheme: ``"w8a8"``: int8 weights with a scale for each channel; ``"w4a8"``: int4 weights, with a
            factor for each group of 128 in a channel. Activations are int8 with one scale each.

    Raises:
        ToolMissingError: PyTorch is not installed.
        ModelError: calibration that is empty or of different shapes, an unknown scheme, or a model that
            cannot be exported.
        UnsupportedOperatorError: an operator that cannot be quantised; it gives the module path and line.
    """
    chosen = scheme_named(scheme)
    torch = load_torch()
    calls = samples_of(torch, calibration, "calibration")
    graph = export_model(model, calls[0], KNOWN)
    fold_fixed(torch, graph)
    rewrite(graph)
    Plan(graph)  # refuses what cannot be quantised, before minutes of calibration
    peaks = Peaks(list(migrated_norms(graph)))
    floats = FloatModel(torch, graph)
    for call in calls:
        peaks.see(floats.values(call))
    migrate(graph, peaks)
    integers = convert(torch, with_nodes(graph, Plan(graph), peaks, chosen)).graph
    return QuantizedModel(model, integers, chosen, list(calls[0]))
