"""The dataflow simulator under its published path: ``from allo.backend.simulator import LLVMOMPModule``.

The processes of a region are fibers of one thread here, so no OpenMP is needed.
"""

from __future__ import annotations

from allo.backend.cpu import LLVMModule as LLVMOMPModule

__all__ = ["LLVMOMPModule"]
