"""Regions, kernels and streams: the core IR they become, and what the simulator makes of it."""

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.dialects.verify import verify
from allo.ir.types import ConstExpr, Stateful, Stream, UInt, float32, index, int8, int16, int32

RNG = np.random.default_rng(11)
M, N, P = 4, 8, 3
TABLE = np.arange(10, dtype=np.int32) * 7


def ints(*shape, dtype=np.int32):
    return RNG.integers(-100, 100, shape).astype(dtype)


def simulate(region, *args):
    """The arrays after one run of the region."""
    schedule = df.customize(region)
    verify(schedule.module, top=region.__name__, places=True)
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    schedule.build(target="simulator")(*args)
    return [a for a in args if isinstance(a, np.ndarray)]


@df.region()
def pair(A: float32[M, N], B: float32[M, N], scale: float32):
    pipe: Stream[float32, 4]

    @df.kernel(mapping=[1], args=[A])
    def producer(a: float32[M, N]):
        for i, j in allo.grid(M, N):
            pipe.put(a[i, j])

    @df.kernel(mapping=[1], args=[B])
    def consumer(b: float32[M, N]):
        for i, j in allo.grid(M, N):
            b[i, j] = pipe.get() * scale + 1


def test_producer_and_consumer_with_a_scalar_of_the_region():
    a = RNG.standard_normal((M, N)).astype(np.float32)
    _, b = simulate(pair, a, np.zeros_like(a), 2.5)
    np.testing.assert_array_equal(b, a * np.float32(2.5) + 1)


def test_the_core_ir_of_a_region():
    schedule = df.customize(pair)
    text = str(schedule.module)
    assert list(schedule.func_args) == ["producer_0", "consumer_0", "pair"]
    assert [a.name for a in schedule.func_args["consumer_0"]] == ["b", "scale", "pipe"]
    assert 'arg_types = ["f32", "f32", "stream<f32, 4>"]' in text
    assert '"allo.stream"() {depth = 4 : i32, dtype = "f32", name = "pipe"}' in text
    assert "call @producer_0(%arg0, %0) : (memref<4x8xf32>, index) -> ()" in text
    assert "call @consumer_0(%arg1, %arg2, %0)" in text


@df.region()
def systolic(A: int8[P, N], B: int8[N, P], C: int32[P, P]):
    fa: Stream[int8, 2][P, P + 1]
    fb: Stream[int8, 2][P + 1, P]

    @df.kernel(mapping=[P, 2], args=[A, B])
    def feed(a: int8[P, N], b: int8[N, P]):
        i, side = df.get_pid()
        for k in range(N):
            with allo.meta_if(side == 0):
                fa[i, 0].put(a[i, k])
            with allo.meta_else():
                fb[0, i].put(b[k, i])

    @df.kernel(mapping=[P, P], args=[C])
    def pe(c: int32[P, P]):
        i, j = df.get_pid()
        acc: int32 = 0
        for k in range(N):
            x: int8 = fa[i, j].get()
            y: int8 = fb[i, j].get()
            acc += x * y
            fa[i, j + 1].put(x)
            fb[i + 1, j].put(y)
        c[i, j] = acc

    @df.kernel(mapping=[P])
    def drain():
        i = df.get_pid()
        for k in range(N):
            _ = fa[i, P].get()
            _ = fb[P, i].get()


def test_a_systolic_array():
    a, b = ints(P, N, dtype=np.int8), ints(N, P, dtype=np.int8)
    *_, c = simulate(systolic, a, b, np.zeros((P, P), np.int32))
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b)
    functions = list(df.customize(systolic).func_args)
    assert functions[:2] == ["feed_0_0", "feed_0_1"]
    assert functions[6:9] == ["pe_0_0", "pe_0_1", "pe_0_2"]
    assert functions[-1] == "systolic"


def test_an_instance_with_nothing_to_do_is_left_out():
    @df.region()
    def top(A: int32[4]):
        pipes: Stream[int32, 2][2]

        @df.kernel(mapping=[4], args=[A])
        def node(a: int32[4]):
            i = df.get_pid()
            with allo.meta_if(i == 0):
                for k in range(4):
                    pipes[0].put(a[k])
            with allo.meta_elif(i == 1):
                for k in range(4):
                    a[k] = pipes[0].get() + i
            with allo.meta_else():
                pass

    assert list(df.customize(top).func_args) == ["node_0", "node_1", "top"]
    a = ints(4)
    np.testing.assert_array_equal(simulate(top, a)[0], a + 1)


def test_blocks_travel_whole():
    @df.region()
    def top(A: int16[4, 6], B: int16[4, 6]):
        blocks: Stream[int16[2, 3], 2]

        @df.kernel(mapping=[1], args=[A])
        def send(a: int16[4, 6]):
            for i, j in allo.grid(2, 2):
                blocks.put(a[i * 2 : i * 2 + 2, j * 3 : j * 3 + 3])

        @df.kernel(mapping=[1], args=[B])
        def receive(b: int16[4, 6]):
            for i, j in allo.grid(2, 2):
                block: int16[2, 3] = blocks.get()
                for r, c in allo.grid(2, 3):
                    b[i * 2 + r, j * 3 + c] = block[r, c] + 1

    a = ints(4, 6, dtype=np.int16)
    np.testing.assert_array_equal(simulate(top, a, np.zeros_like(a))[1], a + 1)


def test_gather_and_scatter():
    @df.region()
    def top(A: int32[N, P], B: int32[N, P]):
        out: Stream[int32, 2][P]
        back: Stream[int32, 2][P]

        @df.kernel(mapping=[1], args=[A])
        def spread(a: int32[N, P]):
            for i in range(N):
                row: int32[P] = a[i]
                df.scatter(row, out[:])

        @df.kernel(mapping=[P])
        def work():
            p = df.get_pid()
            for i in range(N):
                v: int32 = out[p].get() * (p + 1)
                back[p].put(v)

        @df.kernel(mapping=[1], args=[B])
        def collect(b: int32[N, P]):
            for i in range(N):
                b[i] = df.gather([back[0], back[1], back[2]])

    a = ints(N, P)
    np.testing.assert_array_equal(simulate(top, a, np.zeros_like(a))[1], a * np.arange(1, P + 1))


@df.region()
def inner[Q](x: int32[12], y: int32[12], gain: int32):
    links: Stream[int32, 1][Q]

    @df.kernel(mapping=[Q], args=[x])
    def head(a: int32[12]):
        p = df.get_pid()
        T: ConstExpr[int32] = 12 // Q
        for i in range(p * T, (p + 1) * T):
            links[p].put(a[i])

    @df.kernel(mapping=[Q], args=[y])
    def tail(b: int32[12]):
        p = df.get_pid()
        T: ConstExpr[int32] = 12 // Q
        for i in range(p * T, (p + 1) * T):
            b[i] = links[p].get() * gain


def test_a_region_inside_kernels():
    @df.region()
    def outer(x: int32[12], y: int32[12], z: int32[12]):
        @df.kernel(mapping=[2], args=[x, y, z])
        def wrap(a: int32[12], b: int32[12], c: int32[12]):
            i = df.get_pid()
            with allo.meta_if(i == 0):
                inner[2](a, b, 3)
            with allo.meta_else():
                inner[3](a, c, 5)

    x = ints(12)
    zero = np.zeros_like(x)
    _, y, z = simulate(outer, x, zero, zero)
    np.testing.assert_array_equal(y, x * 3)
    np.testing.assert_array_equal(z, x * 5)
    names = list(df.customize(outer).func_args)
    assert names.index("inner") < names.index("wrap_0")
    assert {"head_0", "head_1", "head_2_inner_1", "tail_2_inner_1", "inner_1"} <= set(names)


def test_coordinates_are_compile_time_values():
    @df.region()
    def top(A: int32[4, 2]):
        @df.kernel(mapping=[4, 2], args=[A])
        def fill(a: int32[4, 2]):
            i, j = df.get_pid()
            first: ConstExpr[index] = i * 2 + j
            local: int32[first + 1] = 0
            local[first] = TABLE[first + 1]
            a[i, j] = local[first]

    expected = TABLE[1:9].reshape(4, 2)
    np.testing.assert_array_equal(simulate(top, np.zeros((4, 2), np.int32))[0], expected)


def test_a_stream_of_any_integer_width_and_mixed_puts():
    @df.region()
    def top(A: int8[8], B: int32[2]):
        packed: Stream[UInt(32), 2]

        @df.kernel(mapping=[1], args=[A])
        def pack(a: int8[8]):
            for i in range(2):
                word: UInt(32) = 0
                for j in range(4):
                    word[j * 8 : j * 8 + 8] = a[i * 4 + j]
                packed.put(word)
            packed.put(7)

        @df.kernel(mapping=[1], args=[B])
        def unpack(b: int32[2]):
            for i in range(2):
                b[i] = packed.get()
            b[0] += packed.get()

    a = ints(8, dtype=np.int8)
    expected = a.view(np.int32) + np.array([7, 0], np.int32)
    np.testing.assert_array_equal(simulate(top, a, np.zeros(2, np.int32))[1], expected)


def test_kernels_may_stand_before_their_producers_and_call_functions():
    def double(v: int32) -> int32:
        return v + v

    @df.region()
    def top(A: int32[N], B: int32[N]):
        """The consumer comes first."""
        pipe: Stream[int32, 2]

        @df.kernel(mapping=[1], args=[B])
        def consumer(b: int32[N]):
            for i in range(N):
                b[i] = double(pipe.get())

        @df.kernel(mapping=[1], args=[A])
        def producer(a: int32[N]):
            for i in range(N):
                pipe.put(a[i])

    a = ints(N)
    np.testing.assert_array_equal(simulate(top, a, np.zeros_like(a))[1], a * 2)


def test_customize_then_schedule_a_kernel():
    schedule = df.customize(pair)
    loops = schedule.get_loops("producer_0")
    schedule.pipeline(loops["S_i_j_0"]["j"])
    schedule.unroll("consumer_0:j", factor=2)
    text = str(schedule.module)
    assert text.count("pipeline_ii = 1") == 1
    assert text.count("unroll = 2") == 1
    assert "pipeline_ii" in str(df.customize(pair, opt_default=True).module)


@pytest.mark.parametrize("name", ["get_pid", "gather", "scatter"])
def test_names_of_the_compiler_refuse_to_run(name):
    arguments = {"get_pid": (), "gather": ([],), "scatter": ([], [])}[name]
    with pytest.raises(NotImplementedError, match=rf"{name}\(\)"):
        getattr(df, name)(*arguments)


def test_many_instances_share_a_function():
    """Instances that differ only in constants of subscripts become calls with index arguments."""
    extents = (6, 6)

    @df.region()
    def top(A: int32[6, 7], B: int32[6, 6]):
        pipes: Stream[int32, 1][6, 6]

        @df.kernel(mapping=extents, args=[A])
        def send(a: int32[6, 7]):
            i, j = df.get_pid()
            pipes[i, j].put(a[i, j + 1])

        @df.kernel(mapping=extents, args=[B])
        def receive(b: int32[6, 6]):
            i, j = df.get_pid()
            with allo.meta_if(i == j):
                b[i, j] = pipes[i, j].get()
            with allo.meta_else():
                b[i, j] = pipes[i, j].get() + 10 * i

    a = ints(6, 7)
    expected = a[:, 1:] + 10 * np.arange(6, dtype=np.int32)[:, None] * (1 - np.eye(6, dtype=int))
    np.testing.assert_array_equal(simulate(top, a, np.zeros((6, 6), np.int32))[1], expected)
    made = df.customize(top)
    names = list(made.func_args)
    assert names == ["send_0_0"] + ["receive_0_0", "receive_0_1"] + [
        f"receive_{i}_0" for i in range(1, 6)
    ] + ["top"]
    assert [x.name for x in made.func_args["send_0_0"]] == ["a", "pipes_0_0", "pid_0", "constant_1"]
    assert str(made.module).count("call @send_0_0") == 36
    assert len(df.customize(top, share=False).func_args) == 73


def test_a_stateful_kernel_is_never_shared():
    @df.region()
    def top(A: int32[4]):
        @df.kernel(mapping=[4], args=[A])
        def count(a: int32[4]):
            i = df.get_pid()
            total: int32 @ Stateful = 0
            total += 1
            a[i] += total

    made = df.customize(top, share=True)
    assert len(made.func_args) == 5
    module = made.build(target="simulator")
    a = np.zeros(4, np.int32)
    module(a)
    module(a)
    np.testing.assert_array_equal(a, [3, 3, 3, 3])


def test_gather_and_scatter_of_blocks():
    @df.region()
    def top(A: int32[2, 2, 3], B: int32[2, 2, 3]):
        pipes: Stream[int32[2, 3], 2][2]

        @df.kernel(mapping=[1], args=[A])
        def send(a: int32[2, 2, 3]):
            df.scatter(a, pipes[:])

        @df.kernel(mapping=[1], args=[B])
        def receive(b: int32[2, 2, 3]):
            b[:] = df.gather(pipes[0:2])

    a = ints(2, 2, 3)
    np.testing.assert_array_equal(simulate(top, a, np.zeros_like(a))[1], a)
