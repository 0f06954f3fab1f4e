"""Synthesis of the generated Verilog by open tools: Yosys, and nextpnr for ECP5.

It takes text and gives figures, and knows neither the compiler that made the text nor the simulators.
"""

from .figures import PathStep, Routing, Synthesis
from .run import FAMILIES, ROUTERS, synthesize

__all__ = ["FAMILIES", "ROUTERS", "PathStep", "Routing", "Synthesis", "synthesize"]
