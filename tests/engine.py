"""The engine of hardware in tests that are about something else than engines.

Verilator takes seconds of a processor a design; ``tests/sim`` holds both engines together.
"""

from __future__ import annotations


def engine(target: str) -> dict[str, str]:
    """The options of a build for ``target`` besides: hardware runs in this process."""
    return {"simulator": "jit"} if target == "verilog" else {}
