"""What makes the compiler quick on thousands of small programs: no caches, little optimisation."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def prepare_process() -> None:
    """Turn off what small programs do not need; only in the processes that run them."""
    import allo.backend.sim.engines.arc as arc
    import allo.backend.sim.engines.arc.lower as lower
    import allo.backend.sim.engines.native as native

    def nothing(*_: Any, **__: Any) -> None:
        return None

    lower.publish = nothing  # type: ignore[assignment]
    arc.OPTIMISE_LINES = 0
    plain = native.NativeModule.__init__

    def quick(self: Any, text: str, opt_level: int = 2) -> None:
        plain(self, text, min(opt_level, 0))

    native.NativeModule.__init__ = quick  # type: ignore[method-assign]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    gc.collect()
    gc.freeze()  # what the imports made stays: the collector need not visit it again


@contextmanager
def without_verilog() -> Iterator[None]:
    """Builds in this block write no Verilog."""
    from allo.backend.rtl import compile as rtl

    kept = rtl.export_verilog
    rtl.export_verilog = lambda *_: ""  # type: ignore[assignment]
    try:
        yield
    finally:
        rtl.export_verilog = kept  # type: ignore[assignment]
