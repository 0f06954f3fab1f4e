"""What makes the compiler quick on thousands of small programs: no caches, little optimisation."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def prepare_process() -> None:
    """Turn off what small programs do not need; only in the processes that run them."""
    import allo.backend.sim.engines.arc as arc
    import allo.backend.sim.engines.arc.lowered as lowered
    import allo.backend.sim.engines.native as native

    def made(_folder: object, _name: str, make: Callable[[], str]) -> str:
        return make()

    lowered.cached_text = made  # type: ignore[assignment]
    arc.OPTIMISE_LINES = 0
    plain = native.NativeModule.__init__

    def quick(self: Any, text: str, opt_level: int = 2) -> None:
        plain(self, text, min(opt_level, 0))

    native.NativeModule.__init__ = quick  # type: ignore[method-assign]
    _keep_engines()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    gc.collect()
    gc.freeze()  # what the imports made stays: the collector need not visit it again


def _keep_engines() -> None:
    """Machine code lives as long as the process.

    To take an engine down, LLVM compiles what would run at its end, even where that is nothing: 4 ms.
    Kept, it holds a megabyte; a worker makes some four hundred and ends.
    """
    import allo.dialects.processes.engine as engine

    kept: list[object] = []
    plain = engine.Engine.__init__

    def lasting(self: Any, module: Any, opt_level: int) -> None:
        plain(self, module, opt_level)
        kept.append(self.binding)

    engine.Engine.__init__ = lasting  # type: ignore[method-assign]


@contextmanager
def without_verilog() -> Iterator[None]:
    """Builds in this block write no Verilog."""
    from allo.backend.rtl import compile as rtl

    kept = rtl.export_verilog, rtl.finish_verilog
    rtl.export_verilog = rtl.finish_verilog = lambda *_: ""  # type: ignore[assignment]
    try:
        yield
    finally:
        rtl.export_verilog, rtl.finish_verilog = kept  # type: ignore[assignment]
