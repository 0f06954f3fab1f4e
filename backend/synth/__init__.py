"""Synthesis of the generated Verilog by open tools: Yosys, and nextpnr where it knows the family.

It takes text and gives figures, and knows neither the compiler that made the text nor the simulators.
"""

from .figures import PathStep, Routing, Synthesis
from .run import synthesize

__all__ = ["PathStep", "Routing", "Synthesis", "synthesize"]
