"""Networks of processes that repeat an iteration: two iterations tell what all of them do."""

from __future__ import annotations

import pytest

import allo
from allo.dialects.streams import network as networks
from allo.dialects.streams.network import Network, StreamArray
from allo.dialects.streams.space import StreamSpace
from allo.errors import IllegalTransformError
from allo.ir.types import int8, int32
from allo.library.systolic import schedule_systolic, systolic
from allo.schedule.resolve import buffers_of, find_function


def bursts(A: int32[6, 3], C: int32[6, 3]):
    X: int32[6, 3]
    Y: int32[6, 3]
    for t in range(6, name="produce"):
        for n in range(3):
            X[t, n] = A[t, n]
        for n in range(3):
            Y[t, n] = A[t, n] + 1
    for t in range(6, name="consume"):
        for n in range(3):
            C[t, n] = Y[t, n] * 2
        for n in range(3):
            C[t, n] += X[t, n]


def turns(A: int32[6, 3], C: int32[6, 3]):
    X: int32[6, 3]
    Y: int32[6, 3]
    for t in range(6, name="produce"):
        for n in range(3):
            X[t, 2 - n] = A[t, n]
            Y[t, n] = A[t, n] + 1
    for t in range(6, name="consume"):
        for n in range(3):
            C[t, n] = X[t, 2 - n] - Y[t, n]


def relay(A: int32[6, 3], C: int32[6, 3]):
    X: int32[6, 3]
    Y: int32[6, 3]
    for t in range(6, name="produce"):
        for n in range(3):
            X[t, n] = A[t, n]
    for t in range(6, name="change"):
        for n in range(2):
            Y[t, n] = X[t, n] * 3
        Y[t, 2] = X[t, 2]
    for t in range(6, name="consume"):
        for n in range(3):
            C[t, n] = Y[t, n]


def conditional(A: int32[6, 3], C: int32[6, 3]):
    X: int32[6, 3]
    Y: int32[6, 3]
    for t in range(6, name="produce"):
        for n in range(3):
            X[t, n] = A[t, n]
    for t in range(6, name="change"):
        if t >= 0:
            for n in range(2):
                Y[t, n] = X[t, n] * 3
        Y[t, 2] = X[t, 2]
    for t in range(6, name="consume"):
        for n in range(3):
            C[t, n] = Y[t, n]


def backwards(A: int32[6, 3], C: int32[6, 3]):
    X: int32[6, 3]
    Y: int32[6, 3]
    for t in range(6, name="produce"):
        for n in range(3):
            X[5 - t, n] = A[t, n]
            Y[t, n] = A[t, n]
    for t in range(6, name="consume"):
        for n in range(3):
            C[t, n] = X[5 - t, n] + Y[t, n]


def growing(A: int32[6, 6], C: int32[6, 6]):
    X: int32[6, 6]
    Y: int32[6, 6]
    for t in range(6, name="produce"):
        for n in range(6):
            if n <= t:
                X[t, n] = A[t, n]
        for n in range(t + 1):
            Y[t, n] = A[t, n]
    for t in range(6, name="consume"):
        for n in range(t + 1):
            C[t, n] = Y[t, n]
        for n in range(t + 1):
            C[t, n] += X[t, n]


def network(s, depth: int) -> Network:
    function = find_function(s.module, s.top_func_name)
    arrays = [
        StreamArray(buffers_of(function)[name], name, StreamSpace(depth)) for name in ("X", "Y")
    ]
    return Network(s.module.operation, function, arrays)


def outcome(s, depth: int) -> tuple[bool, int | None]:
    """Whether the processes wait for ever with FIFOs of a depth, and the depth that is enough."""
    made = network(s, depth)
    made.check_order()
    return made.find_stuck() is not None, made.needed_depth()


KERNELS = {
    bursts: (3, True),
    turns: (1, True),
    relay: (1, True),
    conditional: (1, False),
    backwards: (1, False),
    growing: (6, False),
}


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("pipelined", [False, True], ids=["plain", "pipelined"])
@pytest.mark.parametrize("depth", [1, 2, 3, 7])
def test_two_iterations_tell_what_all_do(kernel, pipelined, depth, monkeypatch):
    s = allo.customize(kernel)
    if pipelined:
        for name, band in s.get_loops():
            if name != "change":
                s.pipeline(next(loop for loop_name, loop in band if loop_name == "n"))
    with s.context:
        few = outcome(s, depth)
        made = network(s, depth)
        monkeypatch.setattr(networks, "all_repeated", lambda found, fixed: False)
        assert outcome(s, depth) == few
        whole = network(s, depth)
    enough, is_repeated = KERNELS[kernel]
    if not pipelined:
        assert few == (depth < enough, enough)
    counts = [len(steps) for steps in made.steps], [len(steps) for steps in whole.steps]
    assert (counts[0] == [n // 3 for n in counts[1]]) if is_repeated else counts[0] == counts[1]


def test_a_process_that_waits_for_the_end_of_another_needs_room_for_all():
    s = allo.customize(turns)
    with s.context:
        made = network(s, 17)
        made.check_order()
        assert made.find_stuck() is None
        made.after[1] = frozenset({0})
        assert made.find_stuck() is not None
        assert made.needed_depth() == 18


def test_elements_in_another_order_are_found_in_the_iterations_that_stand_for_all():
    def swapped(A: int32[6, 3], C: int32[6, 3]):
        X: int32[6, 3]
        Y: int32[6, 3]
        for t in range(6, name="produce"):
            for n in range(3):
                X[t, n] = A[t, n]
                Y[t, n] = A[t, n]
        for t in range(6, name="consume"):
            for n in range(3):
                C[t, n] = X[t, 2 - n] + Y[t, n]

    s = allo.customize(swapped)
    with s.context:
        made = network(s, 4)
        with pytest.raises(IllegalTransformError, match=r"\[0, 0\] is the next one in, \[0, 2\]"):
            made.check_order()


def test_the_depth_of_a_product_does_not_count():
    """As many steps are followed for a sum of 8 as for one of 8,000."""
    counts = []
    for depth in (8, 8000):
        s = allo.customize(systolic, instantiate=[int8, int8, int32, 4, depth, 4, 4, 4])
        schedule_systolic(s)
        tile = find_function(s.module, "systolic_tile")
        with s.context:
            made = Network(s.module.operation, tile, networks.stream_arrays(tile))
        counts.append([len(steps) for steps in made.steps])
    assert counts[0] == counts[1]
    assert sum(counts[0]) == 2 * (4 * 4 * 4 + 4 * 4)
