"""CIRCT, at work in a process of its own.

It is written with assertions, which end the process they fail in; its passes hold Python's lock
and heed no Ctrl-C. So the compiler and the in-process engine never load it themselves.
"""

from __future__ import annotations

import atexit
import functools
from typing import Any

from allo.dialects.processes.worker import Worker


@functools.cache
def _worker() -> Worker:
    worker = Worker(
        "CIRCT",
        preload=("allo.backend.rtl._circt", "allo.backend.sim.engines.arc.lower"),
        bare=("allo.backend.sim", "allo.backend.sim.engines.arc"),
    )
    atexit.register(worker.close)
    return worker


def start_circt() -> None:
    """Load CIRCT while there is other work to do."""
    _worker().start()


def in_circt(function: str, *arguments: Any, timeout: float | None = None) -> Any:
    """What a function (``"module:name"``) returns in the process of CIRCT.

    Raises:
        AlloError: as the function raises.
        BuildError: CIRCT ended the process.
        ToolFailedError: it did not answer within ``timeout`` seconds.
    """
    return _worker().call(function, *arguments, timeout=timeout)


def export_verilog(text: str) -> str:
    """SystemVerilog of a design given in hw, comb and seq.

    Raises:
        BuildError: the text is not valid.
    """
    return str(in_circt("allo.backend.rtl._circt:export_verilog", text))
