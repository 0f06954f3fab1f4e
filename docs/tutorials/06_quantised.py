# %% [markdown]
# # 6 · Quantised arithmetic
#
# Hardware for small integers is much smaller than hardware for floating point. This tutorial computes a
# layer of a neural network in 8-bit integers: it chooses scales, lets the types grow where sums need
# more bits, and scales the result back to 8 bits. Then it shows fixed-point types, which do the scaling
# for you.
#
# ## Types that grow
#
# An integer has any width: `Int(5)`, `UInt(12)`, `int8`. The result of an operation is wide enough for
# every value: the product of two `int8` is an `Int(16)`, and the sum of two `Int(16)` is an `Int(17)`. An
# assignment casts to the declared type, and only there are bits lost.

# %%
import numpy as np

import allo
from allo.ir.types import Fixed, float32, int8, int16, int32


def widths(a: int8, b: int8) -> int32:
    narrow: int8 = a * b  # the product has 16 bits; this keeps the lowest 8
    wide: int16 = a * b
    return wide - narrow


lost = allo.customize(widths).build()(100, 3)
print("300 as int8 is", 300 - lost)
assert 300 - lost == np.int16(300).astype(np.int8)

# %% [markdown]
# ## A layer in 8 bits
#
# We have inputs and weights as floats. A *scale* maps each to integers: `value ≈ scale · integer`. We take
# one scale for the inputs, and one for each output's weights, such that the largest value becomes 127.

# %%
IN, OUT, ROWS = 32, 16, 8
rng = np.random.default_rng(6)
x = rng.standard_normal((ROWS, IN)).astype(np.float32)
w = (rng.standard_normal((OUT, IN)) * rng.uniform(0.2, 2, (OUT, 1))).astype(np.float32)
y = x @ w.T

x_scale = np.abs(x).max() / 127
w_scale = np.abs(w).max(axis=1) / 127
y_scale = np.abs(y).max() / 127
xq = np.round(x / x_scale).astype(np.int8)
wq = np.round(w / w_scale[:, None]).astype(np.int8)
factor = (x_scale * w_scale / y_scale).astype(np.float32)
print("largest integers:", np.abs(xq).max(), np.abs(wq).max())

# %% [markdown]
# A sum of 32 products of 16 bits needs 21 bits, so the kernel adds up in `int32`. The sum counts in steps
# of `x_scale · w_scale`. One multiplication by `factor` turns it into steps of `y_scale`. Then it is
# rounded and limited to 8 bits.


# %%
def layer(X: int8[ROWS, IN], W: int8[OUT, IN], F: float32[OUT]) -> int8[ROWS, OUT]:
    Y: int8[ROWS, OUT]
    for r in range(ROWS):
        total: int32[OUT] = 0
        for k in range(IN):
            for o in range(OUT):
                total[o] += X[r, k] * W[o, k]
        for q in range(OUT):
            scaled: float32 = total[q] * F[q]
            half: float32 = 0.5 if scaled >= 0.0 else -0.5
            rounded: int32 = scaled + half
            limited: int32 = min(max(rounded, -127), 127)
            Y[r, q] = limited
    return Y


sums = xq.astype(np.int32) @ wq.astype(np.int32).T
scaled = sums.astype(np.float32) * factor
expected = np.clip((scaled + np.copysign(np.float32(0.5), scaled)).astype(np.int32), -127, 127)

s = allo.customize(layer)
yq = s.build()(xq, wq, factor)
assert np.array_equal(yq, expected)
error = np.abs(yq * y_scale - y).max() / np.abs(y).max()
print(f"largest error: {100 * error:.2f} % of the largest output")
assert error < 0.03

# %% [markdown]
# The kernel agrees with NumPy in every bit. What differs from the floating-point layer is the rounding to
# 8 bits, and it is small.
#
# ## In hardware
#
# First the layer as it stands, with its two inner loops pipelined.

# %%
s.pipeline("o")
s.pipeline("q")
hardware = s.build(target="verilog", simulator="jit")
assert np.array_equal(hardware(xq, wq, factor), expected)
print(f"{hardware.cycles} cycles for {ROWS * IN * OUT} products")
print(f"weights: {wq.nbytes} bytes, in float32 {w.nbytes}")

# %% [markdown]
# What do integers gain beside the smaller memory? An addition of integers takes less than one cycle, so a
# sum can take a new term in every cycle. In floating point the next term has to wait
# ([tutorial 2](02_reports.md)). One sum, once in each type:


# %%
def sum_int8(X: int8[IN], W: int8[IN]) -> int32:
    total: int32 = 0
    for k in range(IN):
        total += X[k] * W[k]
    return total


def sum_float32(X: float32[IN], W: float32[IN]) -> float32:
    total: float32 = 0.0
    for k in range(IN):
        total += X[k] * W[k]
    return total


intervals = {}
for kernel, a, b in ((sum_int8, xq[0], wq[0]), (sum_float32, x[0], w[0])):
    one = allo.customize(kernel)
    one.pipeline("k")
    module = one.build(target="verilog", simulator="jit")
    assert np.allclose(module(a, b), (a.astype(np.float64) * b).sum(), rtol=1e-4)
    loop = module.report.functions[0].loops[-1]
    intervals[kernel.__name__] = loop.ii
    print(f"{kernel.__name__:12} II={loop.ii}, depth {loop.depth}, {module.cycles} cycles")
assert intervals["sum_int8"] == 1 < intervals["sum_float32"]

# %% [markdown]
# ## Fixed point
#
# `Fixed(b, f)` is an integer of `b` bits that counts in steps of 2⁻ᶠ. Sums and products are exact in
# types that grow, as for integers, and an assignment drops bits. At the boundary to Python such values
# are floats.

# %%
T = Fixed(16, 8)
N = 16


def smooth(A: T[N], k: T) -> T[N]:
    B: T[N]
    state: T = 0
    for i in range(N):
        state = state + k * (A[i] - state)
        B[i] = state
    return B


a = np.round(rng.uniform(-4, 4, N) * 256) / 256
k = 0.25

steps, state = [], 0  # the same in integers: counts of 1/256
for value in (a * 256).astype(np.int64):
    state = (state * 256 + 64 * (value - state)) >> 8
    steps.append(state / 256)

s = allo.customize(smooth)
s.pipeline("i")
result = s.build()(a, k)
assert np.array_equal(result, steps)
module = s.build(target="verilog", simulator="jit")
assert np.array_equal(module(a, k), steps)
print("first results:", result[:4])
print("cycles:", module.cycles)

# %% [markdown]
# ## The rule
#
# * Declare narrow types where values are stored, and wide ones where they are added up.
# * In between trust the typing rules: no bits are lost before an assignment. [The kernel
#   language](../language.md) has the tables.
# * Compare with integers in NumPy, bit by bit, and compare with floating point only to judge the error of
#   the quantisation. Two questions, two checks.
# * `allo.library.nn` has `linear_int8`, `requantize` and `linear_requant` ready for use.
