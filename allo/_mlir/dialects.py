"""MLIR's dialects under their published names: ``from allo._mlir.dialects import func``."""

import sys

from allo.dialects._mlir import affine, arith, cf, func, math, memref, scf

for _module in (affine, arith, cf, func, math, memref, scf):
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module

__path__: tuple[str, ...] = ()
"""None but these: ``import allo._mlir.dialects.func`` finds a module above."""
__all__ = ["affine", "arith", "cf", "func", "math", "memref", "scf"]
