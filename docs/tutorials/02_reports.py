# %% [markdown]
# # 2 · Reading a report and fixing an initiation interval
#
# A pipelined loop starts a new iteration every few cycles. The number of cycles between two starts is
# its *initiation interval*, II for short. A loop of 1000 iterations takes about 1000 · II cycles, so
# the II is the first figure to look at. This tutorial shows where the report says it, where the report
# says what keeps it up, and what to do about the two usual reasons.
#
# ## A loop that waits for its own sum
#
# The kernel multiplies a matrix with a vector, in floating point.

# %%
import numpy as np

import allo
from allo.ir.types import float32

M, K = 32, 64


def matvec(A: float32[M, K], x: float32[K]) -> float32[M]:
    y: float32[M] = 0.0
    for i in range(M):
        for k in allo.reduction(K):
            y[i] += A[i, k] * x[k]
    return y


rng = np.random.default_rng(2)
A = rng.standard_normal((M, K)).astype(np.float32)
x = rng.standard_normal(K).astype(np.float32)

expected = np.zeros(M, np.float32)  # each sum in the kernel's order: every bit must agree
for k in range(K):
    expected += A[:, k] * x[k]


def measure(schedule):
    """Build hardware, check its result, and return its report."""
    hardware = schedule.build(target="verilog", simulator="jit")
    assert np.array_equal(hardware(A, x), expected)
    return hardware.report


s = allo.customize(matvec)
s.pipeline("k")
report = measure(s)
report

# %% [markdown]
# Each row of the second table is a loop. Read it from left to right: the loop and its line, how often
# its body runs (*trips*), its initiation interval (*II*), how many cycles one iteration takes from
# start to end (*depth*), and the cycles of the whole loop. The last column says what keeps the II above
# one.
#
# The same figures are attributes, so that a program can test them.

# %%
loop = report.functions[0].loops[-1]
print("II:   ", loop.ii)
print("limit:", loop.limit)
assert loop.ii > 1
first = report.cycles

# %% [markdown]
# The reason is a *recurrence*. Iteration `k` adds to `y[i]`, and so does iteration `k + 1`. The second
# addition needs the result of the first, and an addition in floating point takes several cycles. No
# hardware can start it earlier while the additions keep their order.
#
# The remedy is to put other work between two additions to one element. If `k` is the outer loop,
# neighbouring iterations add to `y[0]`, `y[1]`, `y[2]` and so on. All rows come before `y[0]` is needed
# again, which is longer than an addition takes. The order of the additions to each
# element is the same as before, and so is every bit of the result.

# %%
s = allo.customize(matvec)
s.reorder("k", "i")
s.pipeline("i")
report = measure(s)
loop = report.functions[0].loops[-1]
print(f"II: {loop.ii}, cycles: {first} before, {report.cycles} now")
assert loop.ii == 1
assert report.cycles < 0.51 * first

# %% [markdown]
# ## A loop that waits for a memory
#
# With an II of one, a single multiplier and a single adder are always busy. To go faster we need more
# of them. `unroll` with a factor of four asks for four iterations of `i` at once.

# %%
LANES = 4


def unrolled(partitions):
    """The schedule with four lanes and arrays spread over banks."""
    s = allo.customize(matvec)
    s.reorder("k", "i")
    s.unroll("i", factor=LANES)
    s.pipeline("i")
    for array in partitions:
        s.partition(getattr(s, array), partition_type=allo.Partition.Cyclic, dim=1, factor=LANES)
    return s


report = measure(unrolled([]))
loop = report.functions[0].loops[-1]
print(f"II: {loop.ii}, cycles: {report.cycles}")
print("limit:", loop.limit)
assert loop.ii == 4

# %% [markdown]
# Four iterations run at once, and one group of four starts every four cycles, so nothing is gained. The
# report says why: a memory has two ports, and four elements of `y` must be read and four written in one
# iteration. It also names the remedy. `partition` spreads `y` over four memories, element 0 to
# the first, element 1 to the second, and so on (*cyclic*).

# %%
report = measure(unrolled(["y"]))
loop = report.functions[0].loops[-1]
print(f"II: {loop.ii}, cycles: {report.cycles}")
print("limit:", loop.limit)
assert loop.ii == 2

# %% [markdown]
# Better, but now the reads of `A` are in the way. One iteration reads one column in four rows, so the
# dimension is 1 again.

# %%
report = measure(unrolled(["y", "A"]))
loop = report.functions[0].loops[-1]
print(f"II: {loop.ii}, cycles: {report.cycles}, limit: {loop.limit or 'none'}")
assert loop.ii == 1
print(f"{first / report.cycles:.1f} times as fast as at the beginning")
report

# %% [markdown]
# The first limit can come back. Four rows are now done at once, so the loop returns to `y[0]` four times
# as soon as before. With half as many rows the report would name the addition again.
#
# ## The rule
#
# * Look for the loop with the most cycles in the column *total*, and at its II.
# * If the limit names one operation and a *distance*, it is a recurrence. Let the iterations in between
#   work on other elements: reorder the loops, or keep several partial sums.
# * If the limit names reads and writes and *ports*, it is a memory. Partition the array on the dimension
#   and by the factor that the report gives, or keep what is read again in a local buffer
#   (`reuse_at`, in the [next tutorial](03_stencils.md)).
# * When every II is one, unroll.
#
# `report.to_json()` gives everything as data, and `report.html()` as one page that can be opened in a
# browser. [Hardware](../rtl.md) explains how the II is found.
