# %% [markdown]
# # 9 · From Python to a board
#
# A board with an FPGA costs less than a good keyboard, and all the tools for some of them are free
# software. This tutorial takes a filter from Python to a bitstream, and calls it through the same serial
# line that the board has, simulated here. It needs the tools: `pip install "allo[boards]"`.
#
# ## What to buy
#
# * A board: `allo boards` lists them. An iCEBreaker has 5,280 lookup tables and 8 multipliers, a ULX3S 85F
#   sixteen times as many and 32 MB of memory.
# * A USB cable that carries data: for power, for programming, and for the serial line.
# * For an OrangeCrab or UPduino a serial adapter of 3.3 V, for these have no serial line of their own.
#
# Nothing else: no licence, no programmer. None of Allo's bitstreams has run on a real board yet; what you
# see below is the whole design in simulation, down to the bits on the line.
#
# ## The filter
#
# Each sample becomes the mean of itself and its neighbours before it, with weights 1, 2 and 1.

# %%
from tempfile import TemporaryDirectory

import numpy as np

import allo
from allo.boards import connect, simulate
from allo.ir.types import int16, int32

N = 64


def smooth(x: int16[N]) -> int16[N]:
    y: int16[N]
    before: int16 = 0
    last: int16 = 0
    for n in range(N):
        total: int32 = before + 2 * last + x[n]
        y[n] = total >> 2
        before = last
        last = x[n]
    return y


s = allo.customize(smooth)
s.pipeline("n")
cpu = s.build()

# %% [markdown]
# ## Built for a board
#
# `board=` chooses the device family and its usual clock. The result is the module you know from the other
# tutorials; what is new is that it can be called on a board. `simulate` gives a port behind which the
# whole design runs: the serial line, the protocol that sends damaged packets again, the memories of the
# arguments, and the filter. `connect` opens the port, as it opens the one of a real board, `/dev/ttyUSB1`
# for example.

# %%
mod = s.build(target="verilog", board="icebreaker")
rng = np.random.default_rng(9)
with simulate(mod) as port, connect(port, mod) as device:
    for _ in range(10):
        x = rng.integers(-(2**15), 2**15, N, np.int16)
        assert np.array_equal(device(x), cpu(x))
    print(device.cycles, "cycles")

# %% [markdown]
# ## A line with faults
#
# A cable picks up noise. Here one byte in a thousand gets a wrong bit, and as many are lost; the host
# sends again what did not arrive whole, and the results stay the same.

# %%
with simulate(mod) as port, connect(port, mod, patience=0.05) as device:
    port.errors(flip=1000, lose=1000, seed=4)
    for _ in range(40):
        x = rng.integers(-(2**15), 2**15, N, np.int16)
        assert np.array_equal(device(x), cpu(x))
    print(device.repeated, "packets were sent again")
assert device.repeated > 0

# %% [markdown]
# ## The bitstream
#
# Yosys makes lookup tables of the Verilog, nextpnr places and routes them, and icepack writes the bits.
# Without `clock_mhz` the design gets the fastest clock of the board's generator that it reaches with a
# reserve.

# %%
folder = TemporaryDirectory()
made = mod.bitstream(f"{folder.name}/smooth.bin")
print(str(made).replace(folder.name + "/", ""))
assert made.fmax_mhz >= made.clock_mhz

# %% [markdown]
# ## Where it lies
#
# Each square is a tile of the device; the fuller it is, the darker. The shell is larger than the filter:
# that is the price of a protocol that notices every error, and it stays the same however large a design
# becomes.

# %%
plan = made.floorplan()
assert np.isclose(plan.count("memory"), made.cells["bram"][0])
plan

# %% [markdown]
# ## The routed design
#
# The tools could be wrong, too. With `netlist="routed"` the simulation runs what nextpnr has placed and
# routed, each lookup table by itself, and gives the same bits.

# %%
with simulate(mod, netlist="routed") as port, connect(port, mod, patience=10) as device:
    x = rng.integers(-(2**15), 2**15, N, np.int16)
    assert np.array_equal(device(x), cpu(x))
    print("the routed design agrees")

# %% [markdown]
# ## On the board
#
# ```bash
# allo bitstream smooth.py:smooth --board icebreaker -o smooth.bin
# allo program smooth.bin --board icebreaker
# ```
#
# and then `connect("/dev/ttyUSB1", mod)` in place of the simulation. [Boards and bitstreams](../boards.md)
# says what can go wrong, and what the messages mean.
