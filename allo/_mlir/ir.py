"""MLIR's classes under their published name: ``allo._mlir.ir`` is the module of the wheel."""

import sys

from allo.dialects._mlir import ir

sys.modules[__name__] = ir
