"""PyTorch models as designs: export, lowering to kernels, schedules by module.

PyTorch is an optional extra; nothing here imports it before a model is compiled.
"""

from __future__ import annotations

from .entry import BuiltModel, ModelSchedule, from_pytorch

__all__ = ["BuiltModel", "ModelSchedule", "from_pytorch"]
