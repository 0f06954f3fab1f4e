# %% [markdown]
# # 5 · Systolic arrays
#
# A systolic array is a grid of small processes, called cells. Each cell takes what its neighbours hand
# it, does one multiplication and one addition, and hands the operands on. Wires run only between
# neighbours, so the array can grow without slowing the clock. This tutorial writes one as a dataflow
# region, counts its cycles, and then uses the one in the library for a product of any size.
#
# ## One process a cell
#
# Cell `(i, j)` computes the element `C[i, j]` of a matrix product. Row `i` of `A` enters at the left
# end of row `i` of the grid and moves to the right. Column `j` of `B` enters at the top and moves down.
#
# * `mapping=[M, N]` makes `M` times `N` processes from one kernel. `df.get_pid()` says which one it is.
# * `Stream[int16, depth][M, N]` declares an array of FIFOs.
# * `allo.meta_if` and `allo.meta_for` are decided when the program is compiled. The cells at the right
#   edge and at the bottom have no neighbour to hand operands to.

# %%
import numpy as np

import allo
import allo.dataflow as df
from allo.ir.types import Stream, int16, int32


def array(M, K, N, depth):
    """The schedule of a grid of M by N cells, with FIFOs of this depth and each loop pipelined."""

    @df.region()
    def product(A: int16[M, K], B: int16[K, N], C: int32[M, N]):
        right: Stream[int16, depth][M, N]
        down: Stream[int16, depth][M, N]
        out: Stream[int32, 2][M, N]

        @df.kernel(mapping=[1], args=[A])
        def rows(a: int16[M, K]):
            for k in range(K):
                with allo.meta_for(M) as i:
                    right[i, 0].put(a[i, k])

        @df.kernel(mapping=[1], args=[B])
        def columns(b: int16[K, N]):
            for k in range(K):
                with allo.meta_for(N) as j:
                    down[0, j].put(b[k, j])

        @df.kernel(mapping=[M, N])
        def cell():
            i, j = df.get_pid()
            total: int32 = 0
            for k in range(K):
                x: int16 = right[i, j].get()
                y: int16 = down[i, j].get()
                total += x * y
                with allo.meta_if(j < N - 1):
                    right[i, j + 1].put(x)
                with allo.meta_if(i < M - 1):
                    down[i + 1, j].put(y)
            out[i, j].put(total)

        @df.kernel(mapping=[1], args=[C])
        def collect(c: int32[M, N]):
            with allo.meta_for(M) as i:
                with allo.meta_for(N) as j:
                    c[i, j] = out[i, j].get()

    s = df.customize(product)
    for function in s.func_args:
        for _, band in s.get_loops(function):
            for _, loop in band:
                s.pipeline(loop)
    s.partition("product:A", dim=1)  # a memory for each row of A
    s.partition("product:B", dim=2)  # one for each column of B
    s.partition("product:C", dim=1)
    return s


rng = np.random.default_rng(5)


def operands(M, K, N):
    return rng.integers(-50, 50, (M, K), np.int16), rng.integers(-50, 50, (K, N), np.int16)


M, K, N = 4, 16, 4
A, B = operands(M, K, N)
C = np.zeros((M, N), np.int32)
array(M, K, N, 2).build(target="simulator")(A, B, C)
assert np.array_equal(C, A.astype(np.int32) @ B.astype(np.int32))
print(f"{M * N} cells agree with NumPy on the CPU")

# %% [markdown]
# A notebook draws the network. Processes of one kernel are one box with their number, and an array of FIFOs
# is one arrow; a click on the line below unfolds them.

# %%
array(M, K, N, 2)

# %% [markdown]
# The arrays `A` and `B` are partitioned, because in each cycle one element of every row and of every
# column enters the grid.
#
# ## Cycles
#
# The first element reaches the cell in the far corner after it has passed `M + N` cells. From then on
# every cell does one step a cycle, `K` in all. So we expect `K + M + N` cycles and a few more to begin and
# to end. We count them for several sizes.


# %%
def cycles(M, K, N, depth):
    """Cycles in hardware of a product of this size, checked against NumPy."""
    hardware = array(M, K, N, depth).build(target="verilog", simulator="jit")
    A, B = operands(M, K, N)
    C = np.zeros((M, N), np.int32)
    hardware(A, B, C)
    assert np.array_equal(C, A.astype(np.int32) @ B.astype(np.int32))
    return hardware.cycles


def table(sizes, depth):
    """Print cycles of several sizes; return what they take beyond K + M + N."""
    print("   M    K    N   cycles   cycles - (K + M + N)")
    beyond = []
    for M, K, N in sizes:
        count = cycles(M, K, N, depth)
        beyond.append(count - (K + M + N))
        print(f"{M:4} {K:4} {N:4} {count:8} {beyond[-1]:22}")
    return beyond


shallow = table([(4, 16, 4), (4, 64, 4)], depth=2)

# %% [markdown]
# That is more than we expect, and it grows with `K`. The reason is the depth of the FIFOs. `rows` sends
# to all rows of the grid in the same cycle, but row 3 cannot begin before `B` has come down to it,
# three cycles later. With a depth of two its FIFO is then full, `rows` has to wait, and all rows wait
# with it. FIFOs that hold what arrives in the meantime mend this.

# %%
deep = table([(4, 16, 4), (4, 64, 4), (3, 64, 5)], depth=8)
assert all(0 <= beyond <= 6 for beyond in deep)
assert shallow[1] > shallow[0] > deep[0]

# %% [markdown]
# Now the cycles are as expected. The longer the inner dimension `K`, the smaller is the share of cycles in
# which the grid fills and empties.
#
# ## Any size, from the library
#
# A grid has a fixed number of cells, and matrices are larger. `allo.library.systolic.systolic` cuts
# the product into tiles of `Mt` by `Nt`, and loads the operands of each tile into local memories. Its
# default schedule makes every cell a process: the primitive `unfold` copies the cell's function, and `to`
# turns the arrays between cells into FIFOs.

# %%
from allo.library import systolic

M, K, N, TILE = 10, 24, 12, 4
arguments = [int16, int16, int32, M, K, N, TILE, TILE]


def large(A: int16[M, K], B: int16[K, N]) -> int32[M, N]:
    C: int32[M, N] = 0
    systolic.systolic[int16, int16, int32, M, K, N, TILE, TILE](A, B, C)
    return C


A, B = operands(M, K, N)
expected = A.astype(np.int32) @ B.astype(np.int32)

s = allo.customize(large)
plain = s.build(target="verilog", simulator="jit")
assert np.array_equal(plain(A, B), expected)

s.compose(systolic.systolic, instantiate=arguments)
tiled = s.build(target="verilog", simulator="jit")
assert np.array_equal(tiled(A, B), expected)
print("without a schedule:", plain.cycles, "cycles")
print("with the library's:", tiled.cycles, "cycles")
assert tiled.cycles < plain.cycles / 5

# %% [markdown]
# `M` is no multiple of the tile here. Rows beyond the end are computed with zeros and not stored.
#
# ## The rule
#
# * Write what one cell does, and let `mapping` copy it. Operands go from neighbour to neighbour.
# * Give the FIFOs at the edges the depth by which rows and columns start later than the first.
# * A grid needs as many elements in each cycle as it has edges. Partition what feeds it.
# * For products of any size compose `systolic` from the library ([The library](../library.md)). The page
#   [The schedule](../schedule.md#processes-and-fifos) explains `unfold` and `to`.
