# %% [markdown]
# # 7 · A Vitis project
#
# Allo writes C++ for AMD's Vitis HLS, with everything around it: a test bench, a host program, scripts and
# makefiles. You do not need Vitis to write the project or to check the C++. This tutorial does both, and
# then gives the command lines for a machine that has Vitis. Running the C++ needs AMD's open headers:
# `pip install --no-deps hls4ml==1.3.0`.
#
# ## The kernel and its C++

# %%
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import allo
from allo.ir.types import float32

N = 64


def axpy(X: float32[N], Y: float32[N], a: float32) -> float32[N]:
    Z: float32[N]
    for i in range(N):
        Z[i] = a * X[i] + Y[i]
    return Z


s = allo.customize(axpy)
s.pipeline("i")
code = str(s.build(target="vitis_hls"))
print(code[code.index("extern") :])
assert "#pragma HLS pipeline II=1" in code

# %% [markdown]
# The comment behind a line names the line of Python it comes from. Vitis kernels reach memory through
# AXI ports, so functions around the computation copy each array from its port into a local memory and
# back. `wrap_io=False` leaves them out.
#
# ## A project, and its C++ run here
#
# With `project=` the files are written into a folder. With `mode="csim"` a call compiles the C++ by `g++`
# against AMD's open headers and runs it. The result array comes last among the arguments.

# %%
folder = TemporaryDirectory()
project = Path(folder.name) / "axpy.prj"
module = s.build(target="vitis_hls", mode="csim", project=project)

rng = np.random.default_rng(7)
X, Y = rng.random(N, np.float32), rng.random(N, np.float32)
Z = np.zeros(N, np.float32)
module(X, Y, 2.0, Z)
assert np.array_equal(Z, np.float32(2) * X + Y)
for file in sorted(project.iterdir()):
    print(f"{file.stat().st_size:6} bytes  {file.name}")

# %% [markdown]
# | file | for |
# |---|---|
# | `kernel.cpp`, `kernel.h` | the kernel |
# | `tb.cpp` | the test bench that C simulation and co-simulation run |
# | `run.tcl` | the steps of `vitis_hls`, according to `mode` |
# | `hls.cfg`, `hls_pre.tcl` | the same for the newer command `v++ -c --mode hls` |
# | `host.cpp`, `xcl2.*` | a program for the host that moves the arrays and starts the kernel |
# | `Makefile`, `makefile_*.mk`, `description.json` | emulation, and the build for a card |
# | `README.md` | how to use all of this |
#
# ## Options
#
# `configs` chooses the device, the clock in MHz, and the memory that each array lies in. The array that the
# function returns is called `output_0`.

# %%
configs = {
    "device": "u280",
    "frequency": 250,
    "hbm_mapping": {"X": 0, "Y": 1, "output_0": "HBM[2]"},
}
project = Path(folder.name) / "card.prj"
card = s.build(target="vitis_hls", mode="hw_emu", project=project, configs=configs)
print((project / "axpy.cfg").read_text())
print((project / "hls.cfg").read_text())
assert "clock=4.00ns" in (project / "hls.cfg").read_text()

# %% [markdown]
# ## On a machine with Vitis
#
# After `source <Vitis>/settings64.sh` the built module runs the tools itself: `module()` for
# `mode="csyn"`, and `module(X, Y, 2.0, Z)` for `cosim`, `sw_emu`, `hw_emu` and `hw`. The same by hand, in the
# folder of the project:
#
# ```sh
# vitis_hls -f run.tcl                                            # the steps of the chosen mode
# make run TARGET=sw_emu PLATFORM=xilinx_u280_gen3x16_xdma_1_202211_1
# make run TARGET=hw     PLATFORM=xilinx_u280_gen3x16_xdma_1_202211_1
# ```
#
# `README.md` in the project says the same.
#
# ## On a machine without it
#
# What needs the vendor's tool says so. Nothing is left half done, and the message gives the remedy.

# %%
from allo.errors import ToolMissingError

try:
    card(X, Y, 2.0, Z)
    print("v++ is here: the emulation has run")
except ToolMissingError as error:
    print(error)

# %% [markdown]
# C synthesis has a substitute. Where `vitis_hls` is not installed, `mode="csyn"` builds the kernel by Allo's
# own hardware compiler and returns a report of the same type. Its cycles are those of Allo's hardware and not
# a forecast of Vitis. `configs={"fallback": False}` forbids the substitute.

# %%
synthesis = s.build(target="vitis_hls", mode="csyn", project=Path(folder.name) / "csyn.prj")
report = synthesis()
print(report.tool)
for loop in report.functions[0].loops:
    print(f"{loop.name}: II={loop.ii}, {loop.trips} iterations")
assert [loop.ii for loop in report.functions[0].loops] == [1]
folder.cleanup()

# %% [markdown]
# ## The rule
#
# * Check values with `mode="csim"`, here, for every change.
# * Give `device`, `frequency` and `hbm_mapping` when you write the project for a card.
# * [HLS C++](../hls.md) lists all targets and modes: TAPA, Catapult, PYNQ, Intel HLS and XLS beside Vitis.
