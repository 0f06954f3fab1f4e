"""A design as functions over a block of state, from the cache or lowered in the process of CIRCT."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

from allo.backend.rtl.circt import in_circt
from allo.backend.rtl.design import HardwareDesign
from allo.backend.rtl.float.native import with_square_roots
from allo.dialects.caches.files import cached_text, content_key

from .model import ArcModel
from .recipe import TO_STATE

_LOWER = "allo.backend.sim.engines.arc.lower:lower_text"


def lower_design(design: HardwareDesign, timeout: float | None = None) -> ArcModel:
    """Lower a design, or take what the cache holds of it.

    Args:
        timeout: seconds CIRCT may take.

    Raises:
        BuildError: when the design has something arc cannot simulate.
        ToolFailedError: when it takes too long.
    """
    text = design.native_hw_text or design.hw_text
    key = content_key(design.top, text, *TO_STATE, "25")

    def lower() -> str:
        model: ArcModel = in_circt(_LOWER, design.top, text, timeout=timeout)
        model = replace(model, text=with_square_roots(model.text))
        return json.dumps(asdict(model))

    return _read(cached_text(("arc",), f"{key}.json", lower))


def _read(text: str) -> ArcModel:
    data = json.loads(text)
    data["registers"] = {name: tuple(at) for name, at in data["registers"].items()}
    data["memories"] = [tuple(about) for about in data["memories"]]
    data["resets"] = [tuple(about) for about in data["resets"]]
    return ArcModel(**data)
