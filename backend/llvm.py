"""The CPU back end under its published path: ``from allo.backend.llvm import LLVMModule``."""

from __future__ import annotations

from allo.backend.cpu import LLVMModule
from allo.ir.utils import invoke_mlir_parser

__all__ = ["LLVMModule", "invoke_mlir_parser"]
