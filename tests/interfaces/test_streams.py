"""Arrays and streams behind AXI4-Stream: nothing is lost, TLAST stands on the last word and no other."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.rtl.interfaces import streams
from allo.backend.sim import StreamModel
from allo.errors import InterfaceError, ProtocolError
from allo.ir.types import Fixed, Int, Stream, UInt, float32, int8, int32, int64

from .kernels import agree, build, same, values
from .planted import plant


def scaled(dtype, rows: int, columns: int):
    T, M, N = dtype, rows, columns

    def scale(k: T, A: T[M, N], B: T[M, N]):
        for i, j in allo.grid(M, N):
            B[i, j] = A[i, j] * A[i, j] + k

    schedule = allo.customize(scale)
    schedule.pipeline("j")
    return schedule


@pytest.mark.parametrize(
    "dtype", [int8, int32, int64, float32, Int(7), UInt(12), Fixed(13, 5)], ids=lambda t: t.name
)
@pytest.mark.parametrize("shape", [(1, 1), (3, 7)], ids=str)
def test_elements_of_any_type(dtype, shape) -> None:
    schedule = scaled(dtype, *shape)
    module = build(schedule, "axis")

    def draw(rng):
        k = values(rng, dtype, (1,))[0]
        return [k, values(rng, dtype, shape), values(rng, dtype, shape)]

    assert len(agree(schedule, module, draw)) == 3
    ends = {e.name: (e.output, e.count) for e in module.design.board.streams}
    assert ends == {"A": (False, shape[0] * shape[1]), "B": (True, shape[0] * shape[1])}


@pytest.mark.parametrize("interface", [{"A": "axis"}, {"B": "axis"}, {"A": "axis", "B": "m_axi"}])
def test_streams_beside_other_interfaces(interface) -> None:
    schedule = scaled(int32, 4, 8)
    cycles = [
        agree(
            schedule,
            build(schedule, interface, engine, 0.4),
            lambda rng: [3, values(rng, int32, (4, 8)), values(rng, int32, (4, 8))],
        )
        for engine in ("verilator", "jit")
    ]
    assert cycles[0] == cycles[1]


def test_a_pipeline_takes_a_word_in_every_cycle() -> None:
    schedule = scaled(int32, 20, 20)
    module = build(schedule, "axis", stalls=0.0)
    draw = lambda rng: [3, values(rng, int32, (20, 20)), values(rng, int32, (20, 20))]  # noqa: E731
    assert 400 <= agree(schedule, module, draw, (1,))[0] <= 415
    assert module.traffic.streams["A"].words == module.traffic.streams["B"].words == 400
    slow = module.variant(streams={"A": StreamModel(0.5)})
    assert 700 <= agree(schedule, slow, draw, (1,))[0] <= 900


def running_sum(words: Stream[int32, 4], sums: Stream[int32, 4], n: int32):
    total: int32 = 0
    for _ in range(n):
        total += words.get()
        sums.put(total)


@pytest.mark.parametrize("simulator", ["verilator", "jit"])
@pytest.mark.parametrize("count", [0, 1, 23])
def test_stream_arguments_end_with_the_run(simulator, count) -> None:
    module = build(allo.customize(running_sum), {"n": "s_axilite"}, simulator, 0.4)
    for seed in (1, 2, 3):
        words = values(np.random.default_rng(seed), int32, (count,))
        sums = np.zeros(count, np.int32)
        module(words, sums, count, stall_seed=seed)
        assert same(sums, np.cumsum(words, dtype=np.int32))


@df.region()
def two(A: int32[12], B: int32[12]):
    pipe: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def feed(a: int32[12]):
        for i in range(12):
            word: int32 = a[i] + 1
            pipe.put(word)

    @df.kernel(mapping=[1], args=[B])
    def take(b: int32[12]):
        for i in range(12):
            b[i] = 2 * pipe.get()


@pytest.mark.parametrize("interface", ["axis", "m_axi", {"A": "axis", "B": "m_axi"}], ids=str)
def test_regions(interface) -> None:
    schedule = df.customize(two)
    module = build(schedule, interface)
    for seed in (1, 2, 3):
        a = values(np.random.default_rng(seed), int32, (12,))
        b = np.zeros(12, np.int32)
        module(a, b, stall_seed=seed)
        assert same(b, 2 * (a + np.int32(1)))


FAULTS = {
    "TLAST missing": (
        'last = text.all_of("%over", quiet)',
        "last = text.const(0, 1)",
        "B is done without TLAST on its last word|was not done|stands still",
    ),
    "TLAST on every word": (
        'text.output("TLAST", "i1", last)',
        'text.output("TLAST", "i1", text.const(1, 1))',
        "B has TLAST on another word than the last",
    ),
    "TLAST that never comes": (
        'text.output("TLAST", "i1", last)',
        'text.output("TLAST", "i1", text.const(0, 1))',
        "B is done without TLAST on its last word",
    ),
    "a word that does not wait": (
        'leaves = text.all_of(offered, "%TREADY")',
        "leaves = offered",
        "B (lowers TVALID before|changes what it offers)",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_broken_rule_is_seen(name, monkeypatch) -> None:
    old, new, message = FAULTS[name]
    plant(monkeypatch, streams, old, new, "sender_module")
    schedule = scaled(int32, 4, 4)
    module = build(schedule, "axis", stalls=0.5).variant(max_cycles=10_000)
    draw = lambda rng: [3, values(rng, int32, (4, 4)), values(rng, int32, (4, 4))]  # noqa: E731
    with pytest.raises((ProtocolError, allo.errors.SimulationError), match=message):
        agree(schedule, module, draw)


def transposed(A: int32[4, 4], B: int32[4, 4]):
    for i, j in allo.grid(4, 4):
        B[i, j] = A[j, i]


def twice(A: int32[4], B: int32[4]):
    for i in range(4):
        B[i] = 0
    for i in range(4):
        B[i] = A[i]


def both(A: int32[4], B: int32[4]):
    for i in range(4):
        B[i] = B[i] + A[i]


def picked(A: int32[4], B: int32[4]):
    for i in range(4):
        B[i] = A[B[i]]


def halves(A: int32[4], B: int32[4]):
    for i in range(2):
        B[i] = A[i]


def made(A: int32[4]) -> int32[4]:
    C: int32[4]
    for i in range(4):
        C[i] = A[i]
    return C


GIVEN = [
    (transposed, "A", "element [1, 0] is read where [0, 1] comes next", 2, 19),
    (twice, "B", "element [0] is written where every element has passed", 4, 9),
    (both, "B", "it is both read and written", 2, 9),
    (picked, "A", "it is read where data decide", 2, 16),
    (halves, "B", "element [2] is never written", 2, 9),
    (made, "C", "C is returned and cannot have the interface 'axis'", 0, 5),
]


@pytest.mark.parametrize(
    ("kernel", "name", "message", "line", "column"), GIVEN, ids=[g[0].__name__ for g in GIVEN]
)
def test_an_array_out_of_order_is_refused(kernel, name, message, line, column) -> None:
    schedule = allo.customize(kernel)
    with pytest.raises(InterfaceError) as caught:
        schedule.build(target="verilog", interface={name: "axis"})
    assert message in caught.value.message
    assert "'m_axi'" in caught.value.help
    place = caught.value.place
    assert place.file == __file__
    assert (place.line - kernel.__code__.co_firstlineno, place.col) == (line, column)


def test_words_that_come_before_the_core_starts_wait() -> None:
    """A loop that gets several words keeps them in a buffer, which a start empties."""

    def triples(A: int32[24], x: int32[16], y: int32[8]):
        for i in range(8):
            total: int32 = x[15 - i]
            for l in range(3):
                total += A[3 * i + l]
            y[i] = total

    schedule = allo.customize(triples)
    schedule.pipeline("i")
    module = build(schedule, {"A": "axis", "x": {"kind": "m_axi", "copy": True}}, stalls=0.0)
    agree(schedule, module, lambda rng: [values(rng, int32, (n,)) for n in (24, 16, 8)], (1, 2))
