# %% [markdown]
# # 4 · Dataflow and the depth of FIFOs
#
# Some programs are best built as several *processes* that run at the same time and hand each other data
# through *FIFOs*. This tutorial builds such a network, makes it deadlock, mends it, and then finds the
# depth that makes it fast. Its last picture needs matplotlib: `pip install matplotlib`.
#
# ## Three processes
#
# The network takes blocks of eight numbers and subtracts from each number the mean of its block.
#
# * `split` reads the numbers and sends each one two ways.
# * `mean` adds up eight numbers and sends their mean.
# * `subtract` gets a mean, and then the eight numbers of that block.
#
# A function with `@df.region()` is a network. It declares streams, which are FIFOs with an element type
# and a depth, and kernels, which are processes. `put` waits while the FIFO is full, and `get` waits
# while it is empty. The depth of the FIFO that leads past `mean` is a parameter of the Python function
# around the region, so that we can build the network with several. `df.customize` returns the schedule of
# a region, as `allo.customize` does for a kernel.

# %%
import numpy as np

import allo.dataflow as df
from allo.ir.types import Stream, int32

BLOCKS, SIZE = 16, 8
N = BLOCKS * SIZE


def network(depth):
    """The schedule of the network with a FIFO of this depth around ``mean``."""

    @df.region()
    def centre(X: int32[N], Y: int32[N]):
        numbers: Stream[int32, 2]
        means: Stream[int32, 2]
        around: Stream[int32, depth]

        @df.kernel(mapping=[1], args=[X])
        def split(x: int32[N]):
            for i in range(N):
                value: int32 = x[i]
                numbers.put(value)
                around.put(value)

        @df.kernel(mapping=[1])
        def mean():
            for b in range(BLOCKS):
                total: int32 = 0
                for e in range(SIZE):
                    total += numbers.get()
                means.put(total >> 3)

        @df.kernel(mapping=[1], args=[Y])
        def subtract(y: int32[N]):
            for b in range(BLOCKS):
                m: int32 = means.get()
                for e in range(SIZE):
                    y[b * SIZE + e] = around.get() - m

    return df.customize(centre)


x = np.random.default_rng(4).integers(-1000, 1000, N).astype(np.int32)
blocks = x.reshape(BLOCKS, SIZE)
expected = (blocks - (blocks.sum(axis=1, keepdims=True) >> 3)).reshape(N)

# %% [markdown]
# A notebook draws the network: each box is a process, each arrow a FIFO with its depth.

# %%
network(2)

# %% [markdown]
# ## A deadlock
#
# We begin with a depth of two, as for the other FIFOs. `target="simulator"` runs the processes on the
# CPU. Their order is the same in every run, and FIFOs have exactly the depths that were declared.

# %%
from allo.errors import DeadlockError

y = np.zeros(N, np.int32)
simulator = network(2).build(target="simulator")
try:
    simulator(x, y)
except DeadlockError as error:
    print(error)
else:
    raise AssertionError("this network must deadlock")

# %% [markdown]
# Read the message from the top. `split` waits to put into `around`, which is full. `subtract`, which
# would empty it, waits for a mean. And `mean` has had too few numbers to send one, because `split` is
# waiting. Each waits for the next, in a circle.
#
# ## The depth that suffices
#
# `subtract` takes the first number of a block only when the mean of the whole block has arrived. By then
# `split` must have sent all eight numbers of the block, so `around` must hold eight, or seven and one
# more that `split` holds while it waits. We let the simulator confirm it.


# %%
def deadlocks(depth):
    """Whether the network comes to a halt with this depth; if not, its result is checked."""
    y = np.zeros(N, np.int32)
    try:
        network(depth).build(target="simulator")(x, y)
    except DeadlockError:
        return True
    assert np.array_equal(y, expected)
    return False


outcome = {depth: deadlocks(depth) for depth in (2, 4, 6, 7, 8, 16)}
for depth, stuck in outcome.items():
    print(f"depth {depth:2}: {'deadlock' if stuck else 'right result'}")
smallest = min(depth for depth, stuck in outcome.items() if not stuck)
print("smallest depth that works:", smallest)
assert outcome[2] and not outcome[8]

# %% [markdown]
# ## The depth that is fast
#
# A network can be free of deadlock and still be slow. With the smallest depth, `split` has to wait until
# `subtract` has begun with a block before it can send the next. So `mean` has nothing to add up while
# `subtract` works. In hardware we can count what this costs.


# %%
def cycles(depth):
    """Cycles of the network in hardware, all inner loops pipelined; the result is checked."""
    s = network(depth)
    s.pipeline("split_0:i")
    s.pipeline("mean_0:e")
    s.pipeline("subtract_0:e")
    hardware = s.build(target="verilog", simulator="jit")
    y = np.zeros(N, np.int32)
    hardware(x, y)
    assert np.array_equal(y, expected)
    return hardware.cycles


measured = {depth: cycles(depth) for depth in (smallest, 8, 10, 12, 16, 32)}
for depth, count in measured.items():
    print(f"depth {depth:2}: {count} cycles for {N} numbers")
enough = min(depth for depth, count in measured.items() if count == min(measured.values()))
print("no deeper FIFO is faster than depth", enough)
assert smallest < enough and measured[enough] < measured[smallest]

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(5, 3))
axes.plot(list(measured), list(measured.values()), marker="o")
axes.set_xlabel("depth of the FIFO")
axes.set_ylabel("cycles")
axes.set_ylim(0)
axes.grid(alpha=0.3)

# %% [markdown]
# ## The rule
#
# * Where two ways lead from one process to another, the FIFO on the shorter way must hold what the longer
#   way keeps back. Here the longer way keeps back one block.
# * To keep everything busy it must hold more: what arrives while the longer way is at work.
# * Build with `target="simulator"` first. It takes a moment, and a deadlock names every process that
#   waits, the line of its `put` or `get`, and how full the FIFO is. The hardware simulators report a
#   deadlock in the same words ([Simulation](../simulation.md)).
