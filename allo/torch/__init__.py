"""PyTorch models as designs: export, lowering to kernels, schedules by module.

PyTorch is an optional extra; nothing here imports it before a model is compiled.
"""

from __future__ import annotations

from .entry import BuiltModel, from_pytorch
from .modules.sub import ModuleSchedule
from .schedule import ModelSchedule

__all__ = ["BuiltModel", "ModelSchedule", "ModuleSchedule", "from_pytorch"]
