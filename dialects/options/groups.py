"""Who takes options: targets, steps, and functions beside ``build``."""

from __future__ import annotations

CPU = ("llvm", "cpu", "simulator")
HLS = ("vhls", "vivado_hls", "vitis_hls", "pynq", "tapa", "catapult", "ihls", "intel_hls")
FLUSHING_HLS = ("vhls", "vivado_hls", "vitis_hls", "pynq", "tapa")
"""Those of the HLS targets whose float units have no subnormals."""
XLS = ("xls", "xlscc")
SIMULATED = ("verilog", "rtl")
RTL = (*SIMULATED, "systemverilog")

BUILD = "build"
"""The group of what ``build`` takes whatever the target."""
DF_BUILD = "df.build"
CUSTOMIZE = "customize"
DF_CUSTOMIZE = "df.customize"
RTL_CALL = "a call of an RTLModule"
SYNTHESIS = "synthesize"
BITSTREAM = "bitstream"
CHANNEL = "MemoryChannel"
STREAM = "StreamModel"
IP_MODULE = "IPModule"
BINDING = "Memory"
MEMORY = "external_memory"

_VIVADO_MODES = ("csim", "csyn", "cosim", "impl", "custom", "debug")
MODES: dict[str, tuple[str, ...]] = {
    "vhls": _VIVADO_MODES,
    "vivado_hls": _VIVADO_MODES,
    "vitis_hls": ("csim", "csyn", "cosim", "sw_emu", "hw_emu", "hw"),
    "pynq": ("csim", "csyn", "impl"),
    "tapa": ("csim", "fast_hw_emu", "hw_emu", "hw"),
    "catapult": ("csim", "csyn"),
    **dict.fromkeys(XLS, ("sw_emu",)),
}
"""The steps ``mode=`` may name, by target; a target that is not here has none."""

MODE_WITH_PROJECT = tuple(target for target in MODES if target not in XLS)
"""The targets whose projects are made for one step."""
PROJECTS = (*MODES, *SIMULATED)
"""The targets that write a project folder."""
