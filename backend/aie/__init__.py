"""The question published programs ask before they build for AMD's NPU.

There is no such back end here: ``target="aie"`` is refused, and the same regions run on
``"simulator"``, in HLS and in Verilog.
"""

from __future__ import annotations


def is_available(target: str = "aie") -> bool:
    """Whether ``target="aie"`` can be built: no."""
    del target
    return False


__all__ = ["is_available"]
