"""Networks, kernels of one function a layer: functions for calls, and cycles balanced between layers."""

from .choose import BALANCED, NOTHING, choice_of_layers, greedy_choices, has_many
from .instances import Layers, arranged

__all__ = [
    "BALANCED",
    "NOTHING",
    "Layers",
    "arranged",
    "choice_of_layers",
    "greedy_choices",
    "has_many",
]
