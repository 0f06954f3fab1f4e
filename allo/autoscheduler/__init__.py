"""The published interface of the automatic scheduler, a thin layer over :mod:`allo.explore`."""

from .config import AutoschedulerConfig
from .dfg import DFG, DFGAnalysisResult
from .passes import dataflow_optimization_pass

__all__ = ["DFG", "AutoschedulerConfig", "DFGAnalysisResult", "dataflow_optimization_pass"]
