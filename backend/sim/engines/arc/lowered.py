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

    def lower() -> str:
        model: ArcModel = in_circt(_LOWER, design.top, _text_of(design), timeout=timeout)
        model = replace(model, text=with_square_roots(model.text))
        return json.dumps(asdict(model))

    return _read(cached_text(("arc",), f"{model_key(design)}.json", lower))


def model_key(design: HardwareDesign) -> str:
    """A name for the model of a design: the same where its program lies in another folder."""
    return content_key(design.top, _without_places(_text_of(design)), *TO_STATE, "40")


def _text_of(design: HardwareDesign) -> str:
    return design.native_hw_text or design.hw_text


def _without_places(text: str) -> str:
    """The text without its lines of locations, of which nothing is left in what it is lowered to."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("#p"))


def _read(text: str) -> ArcModel:
    data = json.loads(text)
    data["registers"] = {name: tuple(at) for name, at in data["registers"].items()}
    data["memories"] = [tuple(about) for about in data["memories"]]
    data["resets"] = [tuple(about) for about in data["resets"]]
    return ArcModel(**data)
