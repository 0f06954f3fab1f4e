# %% [markdown]
# # 1 · A first kernel and its schedule
#
# This tutorial takes a matrix product from a Python function to simulated hardware. You will write
# the function, run it on the CPU, change how it is computed without changing what it computes, and
# count the cycles that the hardware takes.
#
# ## The kernel
#
# A kernel is a Python function whose arguments carry element types and shapes. `allo.grid` gives
# nested loops, and `allo.reduction` says that a loop adds up into one place.

# %%
import numpy as np

import allo
from allo.ir.types import int32

M, N, K = 16, 16, 16


def product(A: int32[M, K], B: int32[K, N]) -> int32[M, N]:
    C: int32[M, N] = 0
    for i, j in allo.grid(M, N, name="mm"):
        for k in allo.reduction(K):
            C[i, j] += A[i, k] * B[k, j]
    return C


# %% [markdown]
# `allo.customize` reads the source of the function. It never runs it. The result is a *schedule*: it
# holds the program in a compiler's form, and it is what you customise.
#
# `build()` without a target compiles for the CPU. The built module is called with NumPy arrays.

# %%
rng = np.random.default_rng(0)
A = rng.integers(-100, 100, (M, K)).astype(np.int32)
B = rng.integers(-100, 100, (K, N)).astype(np.int32)

s = allo.customize(product)
on_cpu = s.build()
assert np.array_equal(on_cpu(A, B), A @ B)
print("the CPU build agrees with NumPy")

# %% [markdown]
# ## Hardware, as it stands
#
# The same schedule builds hardware. `target="verilog"` gives SystemVerilog, and calling the module
# simulates it. Here we ask for the in-process simulator (`simulator="jit"`); without that argument
# Verilator runs, which takes some seconds longer to build and gives the same cycles.

# %%
plain = s.build(target="verilog", simulator="jit")
assert np.array_equal(plain(A, B), A @ B)
print("multiplications:", M * N * K)
print("cycles:         ", plain.cycles)

# %% [markdown]
# Every multiplication takes several cycles, because each waits until the one before it has ended. The
# schedule can change that.
#
# ## The schedule
#
# A *primitive* is a method of the schedule. It rewrites the program and leaves its meaning as it is; a
# primitive that would change the meaning raises an error instead. We apply three:
#
# 1. `reorder("k", "j")` puts the loop `k` outside the loop `j`. Neighbouring iterations then add to
#    different elements, so that none has to wait for the sum before it.
# 2. `buffer_at(s.C, "i")` keeps the row of `C` that is being computed in a small local memory.
# 3. `pipeline("j")` starts a new iteration of `j` before the one before it has ended.

# %%
s = allo.customize(product)
s.reorder("k", "j")
s.buffer_at(s.C, "i")
s.pipeline("j")
pipelined = s.build(target="verilog", simulator="jit")
assert np.array_equal(pipelined(A, B), A @ B)
print("cycles before:", plain.cycles)
print("cycles after: ", pipelined.cycles)
print(f"{M * N * K / pipelined.cycles:.2f} multiplications a cycle")

# %% [markdown]
# A notebook shows a schedule as the loops it has now, with what was asked of each. `C_row` is the buffer
# that `buffer_at` made, and `j_init` and `j_back` are the loops that fill it and write it back.

# %%
s

# %% [markdown]
# One multiplication starts in nearly every cycle. More than one a cycle needs more multipliers, and
# memories that deliver more than one element a cycle. `unroll` gives the multipliers. `partition`
# spreads an array over several memories, called banks.

# %%
LANES = 4
s = allo.customize(product)
s.reorder("k", "j")
row = s.buffer_at(s.C, "i")
s.split("j", LANES)
s.unroll("j.inner")
s.pipeline("j.outer")
for array in (row, s.B):
    dim = 1 if array is row else 2
    s.partition(array, partition_type=allo.Partition.Cyclic, dim=dim, factor=LANES)
wide = s.build(target="verilog", simulator="jit")
assert np.array_equal(wide(A, B), A @ B)
print("cycles:", wide.cycles)
print(f"{M * N * K / wide.cycles:.2f} multiplications a cycle")
assert wide.cycles < pipelined.cycles / 2

# %% [markdown]
# ## A refused primitive
#
# What happens if two loops are exchanged in a program where their order matters? In the next kernel
# every element is computed from its neighbour above and to the right. After the exchange a neighbour
# would be read before it is computed. Allo finds this from the subscripts and names the two iterations
# in conflict.

# %%
from allo.errors import IllegalTransformError


def wavefront(X: int32[8, 8]):
    for i, j in allo.grid(7, 7):
        X[i + 1, j] = X[i, j + 1] + 1


s = allo.customize(wavefront)
try:
    s.reorder("j", "i")
except IllegalTransformError as error:
    print(error)
else:
    raise AssertionError("the exchange of the loops must be refused")

# %% [markdown]
# ## What to read next
#
# The next tutorial reads the report of a design and finds out what keeps a loop slow. The page
# [The schedule](../schedule.md) lists every primitive, and [The kernel language](../language.md) says
# what a kernel may hold.
