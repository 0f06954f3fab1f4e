# %% [markdown]
# # 3 · Stencils with `reuse_at`
#
# A stencil computes each element from a small window of its neighbours. Filters of images and the
# time steps of many simulations have this form. Windows overlap, so a straightforward program reads
# each element many times. This tutorial keeps what was read in small buffers, until each element is
# read from memory once.
#
# ## A filter over 3 × 3 elements

# %%
import numpy as np

import allo
from allo.ir.types import int32

H, W = 16, 32


def blur(A: int32[H, W]) -> int32[H - 2, W - 2]:
    B: int32[H - 2, W - 2] = 0
    for y, x in allo.grid(H - 2, W - 2):
        total: int32 = 0
        for r, c in allo.reduction(3, 3):
            total += A[y + r, x + c]
        B[y, x] = total
    return B


image = np.random.default_rng(3).integers(0, 256, (H, W)).astype(np.int32)
windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
expected = windows.sum(axis=(2, 3))


def measure(schedule):
    """Build hardware, compare every element with NumPy, and return the report."""
    hardware = schedule.build(target="verilog", simulator="jit")
    assert np.array_equal(hardware(image), expected)
    return hardware.report


s = allo.customize(blur)
s.pipeline("x")
plain = measure(s)
loop = plain.functions[0].loops[-1]
print("cycles:", plain.cycles)
print("II:    ", loop.ii)
print("limit: ", loop.limit)
assert loop.ii > 1

# %% [markdown]
# `pipeline("x")` unrolls the loops inside `x`, so one iteration reads all nine elements of its window.
# The memory of `A` has two ports. It needs five cycles to deliver nine elements, and that is the
# initiation interval.
#
# ## A line buffer and a window buffer
#
# When the window moves by one element to the right, six of its nine elements stay in it. When it moves to
# the next row, two of its three rows stay. `reuse_at` makes a buffer for each:
#
# * `reuse_at(s.A, "y")` keeps the last three rows: a *line buffer*;
# * `reuse_at(lines, "x")` keeps the last three columns of those: a *window buffer*.
#
# The program now reads each element of `A` once, in order, and shifts the buffers.

# %%
s = allo.customize(blur)
lines = s.reuse_at(s.A, "y")
window = s.reuse_at(lines, "x")
assert np.array_equal(s.build()(image), expected)

reads = [line.strip() for line in str(s.module).splitlines() if 'from = "A"' in line]
print("\n".join(reads))
assert len(reads) == 1

# %% [markdown]
# The buffers must be able to shift in one cycle. The line buffer is partitioned by rows, so that each row
# is a memory of its own. The window buffer is partitioned completely, which makes it nine registers.

# %%
s.partition(lines, dim=1)
s.partition(window)
s.pipeline("x")
buffered = measure(s)
loop = buffered.functions[0].loops[-1]
print(f"cycles: {plain.cycles} before, {buffered.cycles} now")
print(f"II: {loop.ii}")
for memory in buffered.functions[0].memories:
    print(f"{memory.name:16} {memory.banks} banks of {memory.words} words, {memory.storage}")
assert loop.ii == 1
assert buffered.cycles < plain.cycles / 2

# %% [markdown]
# The loop now runs over all elements of `A`, not only over those of the result, because the first two
# rows and columns fill the buffers. The condition for this is in the program that `reuse_at` made.
#
# ## The same in HLS C++
#
# A schedule is independent of the target. The C++ for an HLS tool holds the same buffers, with the
# pragmas that partition them.

# %%
code = str(s.build(target="vhls"))
print("\n".join(line for line in code.splitlines() if "reuse" in line and "[3]" in line))
print(
    "\n".join(line.strip() for line in code.splitlines() if "#pragma HLS array_partition" in line)
)
assert code.count("array_partition") == 3

# %% [markdown]
# ## When it is refused
#
# `reuse_at` needs a window of which something is left in the next iteration. A sum of pairs has none: it
# moves by two elements, and reads two. The error says what was found.

# %%
from allo.errors import ScheduleError


def pairs(A: int32[32], B: int32[16]):
    for x in range(16):
        B[x] = A[2 * x] + A[2 * x + 1]


s = allo.customize(pairs)
try:
    s.reuse_at(s.A, "x")
except ScheduleError as error:
    print(error)
else:
    raise AssertionError("a window of which nothing is left must be refused")

# %% [markdown]
# ## The rule
#
# Call `reuse_at` from the outermost loop inwards, each time on the buffer that the call before it
# returned. Partition a line buffer on the dimension of its lines, and a window buffer completely. Then
# pipeline the innermost loop that is left.
