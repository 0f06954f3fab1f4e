"""PyTorch models as designs: export, lowering to kernels, schedules by module, ``torch.compile``.

PyTorch is an optional extra; nothing here imports it before a model is compiled.
"""

from __future__ import annotations

from allo.models.modules.explain import Explanation
from allo.models.modules.sub import ModuleSchedule
from allo.models.schedule import ModelSchedule

from .compiler.backend import allo_backend, register, register_if_loaded
from .compiler.explain import explain
from .entry import BuiltModel, from_pytorch

__all__ = [
    "BuiltModel",
    "Explanation",
    "ModelSchedule",
    "ModuleSchedule",
    "allo_backend",
    "explain",
    "from_pytorch",
    "register",
]

register_if_loaded()
