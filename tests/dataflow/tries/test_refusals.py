"""What is refused of streams that are asked without waiting, and how it is told."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import (
    DataflowError,
    DeadlockError,
    TypeMismatchError,
    UndecidableError,
    UnsupportedSyntaxError,
)
from allo.ir.types import Stream, int32, uint1
from tests.compatibility.everywhere import EVERYWHERE, build
from tests.dataflow.tries.programs import arbiter

N = 8


def refused(error, region):
    with pytest.raises(error) as caught:
        df.customize(region)
    with pytest.raises(error):
        allo.interpret(region)
    return caught.value


def test_the_producer_cannot_ask_whether_its_stream_is_empty():
    @df.region()
    def wrong(a: int32[N], b: int32[N]):
        pipe: Stream[int32, 2]

        @df.kernel(mapping=[1], args=[a])
        def send(x: int32[N]):
            for i in range(N):
                if pipe.empty():
                    pipe.put(x[i])

        @df.kernel(mapping=[1], args=[b])
        def take(y: int32[N]):
            for i in range(N):
                y[i] = pipe.get()

    error = refused(DataflowError, wrong)
    assert error.message == "send_0 puts into stream pipe, so it cannot ask pipe.empty()."
    assert error.help == (
        "only the process that gets from a stream asks .empty(); the other asks .full()."
    )
    assert [text for text, _ in error.notes] == [".empty() here"]


def test_the_consumer_cannot_ask_whether_its_stream_is_full():
    @df.region()
    def wrong(a: int32[N], b: int32[N]):
        pipe: Stream[int32, 2]

        @df.kernel(mapping=[1], args=[a])
        def send(x: int32[N]):
            for i in range(N):
                pipe.put(x[i])

        @df.kernel(mapping=[1], args=[b])
        def take(y: int32[N]):
            for i in range(N):
                v: int32 = pipe.get()
                y[i] = v if pipe.full() else 0

    error = refused(DataflowError, wrong)
    assert error.message == "take_0 gets from stream pipe, so it cannot ask pipe.full()."


def test_a_second_consumer_that_only_tries_is_refused():
    @df.region()
    def two(a: int32[N], b: int32[N]):
        pipe: Stream[int32, 2]

        @df.kernel(mapping=[1], args=[a])
        def send(x: int32[N]):
            for i in range(N):
                pipe.put(x[i])

        @df.kernel(mapping=[2], args=[b])
        def take(y: int32[N]):
            for i in range(N):
                v, ok = pipe.try_get()
                y[i] = v

    error = refused(DataflowError, two)
    assert error.message == "Stream pipe has 2 consumers: take_0 and take_1."


def test_blocks_pass_in_several_words_and_are_not_tried():
    @df.region()
    def blocks(a: int32[N], b: int32[N]):
        pipe: Stream[int32[N], 2]

        @df.kernel(mapping=[1], args=[a])
        def send(x: int32[N]):
            pipe.try_put(x)

        @df.kernel(mapping=[1], args=[b])
        def take(y: int32[N]):
            y[:] = pipe.get()

    error = refused(DataflowError, blocks)
    assert error.message == ("Stream pipe carries blocks, and .try_put is of streams of scalars.")
    assert error.help is not None and error.help.startswith("a block passes in several words")


def test_arguments_are_checked():
    @df.region()
    def none(a: int32[N]):
        pipe: Stream[int32, 2]

        @df.kernel(mapping=[1], args=[a])
        def send(x: int32[N]):
            pipe.try_put()

    @df.region()
    def some(a: int32[N]):
        pipe: Stream[int32, 2]

        @df.kernel(mapping=[1], args=[a])
        def take(x: int32[N]):
            v, ok = pipe.try_get(3)

    with pytest.raises(UnsupportedSyntaxError, match=r"try_put\(\) takes one argument, the value"):
        df.customize(none)
    with pytest.raises(UnsupportedSyntaxError, match=r"try_get\(\) takes no arguments"):
        df.customize(some)


def test_two_values_for_one_name_are_refused():
    @df.region()
    def one(a: int32[N]):
        pipe: Stream[int32, 2]

        @df.kernel(mapping=[1])
        def send():
            pipe.put(1)

        @df.kernel(mapping=[1], args=[a])
        def take(x: int32[N]):
            x[0] = pipe.try_get()

    error = refused(TypeMismatchError, one)
    assert error.message == "pipe.try_get returns 2 values; one is needed here."


def test_an_operation_that_there_is_not_names_those_that_there_are():
    @df.region()
    def peeks(a: int32[N]):
        pipe: Stream[int32, 2]

        @df.kernel(mapping=[1], args=[a])
        def take(x: int32[N]):
            x[0] = pipe.peek()

    with pytest.raises(UnsupportedSyntaxError) as caught:
        df.customize(peeks)
    assert caught.value.message == "Stream pipe has no operation .peek."
    assert caught.value.help == (
        "streams have .put and .get, and .try_put, .try_get, .empty and .full."
    )


@df.region()
def starved(a: int32[N]):
    """Each waits, or asks, for what the other would give first."""
    there: Stream[int32, 2]
    back: Stream[int32, 2]

    @df.kernel(mapping=[1])
    def waits():
        v: int32 = back.get()
        there.put(v)

    @df.kernel(mapping=[1], args=[a])
    def polls(x: int32[N]):
        ok: uint1 = 0
        while not ok:
            v, ok = there.try_get()
        back.put(1)


@df.region()
def all_poll(a: int32[N]):
    lanes: Stream[int32, 2][2]

    @df.kernel(mapping=[2], args=[a])
    def polls(x: int32[N]):
        p = df.get_pid()
        ok: uint1 = 0
        while not ok:
            v, ok = lanes[p].try_get()
        lanes[1 - p].put(1)


@df.region()
def never_read(a: int32[N]):
    pipe: Stream[int32, 2]
    go: Stream[int32, 1]

    @df.kernel(mapping=[1])
    def sends():
        n: int32 = 0
        while n < 3:
            if not pipe.full():
                pipe.put(n)
                n += 1
        go.put(1)

    @df.kernel(mapping=[1], args=[a])
    def takes(x: int32[N]):
        x[0] = go.get()
        x[1] = pipe.get()


STUCK = {
    "starved": (starved, "polls"),
    "all_poll": (all_poll, "polls_1"),
    "never": (never_read, "sends"),
}


@pytest.mark.parametrize("target", EVERYWHERE)
@pytest.mark.parametrize("name", STUCK)
def test_processes_that_ask_for_ever_are_found_out(name, target, tmp_path):
    region, process = STUCK[name]
    with pytest.raises(DeadlockError) as caught:
        build(region, target, tmp_path)(np.zeros(N, np.int32))
    assert "makes no progress" in caught.value.message
    assert any(text.startswith(process) and " tries to " in text for text, *_ in caught.value.notes)


def test_equivalence_is_not_decided():
    with pytest.raises(UndecidableError) as caught:
        allo.verify(df.customize(arbiter), df.customize(arbiter))
    assert caught.value.message == (
        "What .try_get() tells depends on when it is asked, which no order of the processes "
        "decides."
    )
