"""A deadlock is an exception that lists every blocked process; never a hang."""

from __future__ import annotations

import numpy as np
import pytest

from allo.backend.cpu import LLVMModule
from allo.dialects.diagnostics import DeadlockError

from .kernels import attributes
from .systolic import systolic_text
from .test_dataflow import data, pipe_text


def notes_of(error: DeadlockError) -> list[str]:
    return [f"{note[1]}: {note[0]}" if isinstance(note, tuple) else note for note in error.notes]


def test_a_cycle_of_three_is_listed_in_full():
    text = data("forkjoin").replace(
        '"right", dtype = "i32", depth = 3', '"right", dtype = "i32", depth = 1'
    )
    module = LLVMModule(text, "top")
    a, b = np.arange(12, dtype=np.int32), np.zeros(12, np.int32)
    for _ in range(2):
        with pytest.raises(DeadlockError) as caught:
            module(a, b)
        assert str(caught.value) == (
            "forkjoin.py:3:1: top deadlocks: 3 processes wait and none of the 3 that have not "
            "finished can go on.\n"
            "note: forkjoin.py:13:13: fork_0 waits to put into FIFO right (1 of 1 filled); "
            "its reader join_0 waits to get from FIFO sums.\n"
            "note: forkjoin.py:20:20: total_0 waits to get from FIFO left (0 of 1 filled); "
            "its writer fork_0 waits to put into FIFO right.\n"
            "note: forkjoin.py:26:23: join_0 waits to get from FIFO sums (0 of 1 filled); "
            "its writer total_0 waits to get from FIFO left.\n"
            "help: FIFO right needs a depth of 2: with it this call ends. Or take from it earlier."
        )


def test_too_few_puts_name_the_writer_that_finished():
    module = LLVMModule(pipe_text("i32", 8, 4, puts=7), "top")
    with pytest.raises(DeadlockError, match="top deadlocks: 1 process waits") as caught:
        module(np.zeros(8, np.int32), np.zeros(8, np.int32))
    assert notes_of(caught.value) == [
        "pipe.py:9:16: sink_0 waits to get from FIFO pipe (0 of 4 filled); its writer source_0 has finished."
    ]
    assert caught.value.help == (
        "no depth of a FIFO helps: put as many elements into each FIFO as are taken from it."
    )


def test_too_many_puts_name_the_reader_that_finished():
    module = LLVMModule(pipe_text("i32", 8, 4, puts=13), "top")
    with pytest.raises(DeadlockError) as caught:
        module(np.zeros(8, np.int32), np.zeros(8, np.int32))
    assert notes_of(caught.value) == [
        "pipe.py:5:9: source_0 waits to put into FIFO pipe (4 of 4 filled); its reader sink_0 has finished."
    ]


@pytest.mark.parametrize(("surplus", "ends"), [(3, True), (4, False)])
def test_the_depth_is_exact(surplus: int, ends: bool):
    module = LLVMModule(pipe_text("i32", 8, 3, puts=8 + surplus), "top")
    a, b = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    if ends:
        module(a, b)
        np.testing.assert_array_equal(b, a)
        return
    with pytest.raises(DeadlockError):
        module(a, b)


def test_a_deadlock_inside_a_nested_region_names_the_way_there():
    text = data("nested").replace(
        '"allo.get_block"(%blocks, %block)',
        '"allo.get_block"(%blocks, %block) : (index, memref<2x4xi16>) -> () loc("nested.py":14:30 to :42)\n'
        '      "allo.get_block"(%blocks, %block)',
    )
    module = LLVMModule(text, "outer")
    a = np.zeros((6, 4), np.int16)
    with pytest.raises(DeadlockError) as caught:
        module(a, a.copy(), a.copy())
    assert notes_of(caught.value) == [
        "nested.py:28:9: second_0 waits to get from FIFO go (0 of 1 filled); "
        "its writer first_0 waits for the kernels of its own region.",
        "nested.py:14:30: first_0/receive_0 waits to get from FIFO blocks (0 of 1 filled); "
        "its writer first_0/send_0 has finished.",
    ]


def test_a_stream_nobody_fills():
    text = data("burst").replace("call @producer_0(%A, %pipe) : (memref<32xf32>, index) -> ()", "")
    module = LLVMModule(text.replace('loc("burst.py":6:5 to :40)', ""), "top")
    a = np.zeros(32, np.float32)
    with pytest.raises(DeadlockError) as caught:
        module(a, a.copy())
    assert notes_of(caught.value) == [
        "burst.py:17:22: consumer_0 waits to get from FIFO pipe (0 of 2 filled); it has no writer."
    ]


def test_a_fifo_a_process_fills_for_itself():
    text = f"""func.func @f(%n: i32) attributes {{{attributes(["n"], ["i32"], [])}}} {{
      %s = "allo.stream"() {{name = "s", dtype = "i32", depth = 1 : i32}} : () -> index
      "allo.put"(%s, %n) : (index, i32) -> () loc("user.py":3:5)
      "allo.put"(%s, %n) : (index, i32) -> () loc("user.py":4:5)
      %a = "allo.get"(%s) : (index) -> i32 loc("user.py":5:9)
      return
    }}"""
    with pytest.raises(DeadlockError) as caught:
        LLVMModule(text, "f")(1)
    assert notes_of(caught.value) == [
        "user.py:4:5: f waits to put into FIFO s (1 of 1 filled); its reader is the same process."
    ]


def test_every_one_of_many_blocked_processes_is_listed():
    text = systolic_text(8, 8, 8).replace(
        "affine.for %k = 0 to 8 {\n      %v = memref.load %b",
        "affine.for %k = 0 to 5 {\n      %v = memref.load %b",
    )
    module = LLVMModule(text, "top")
    with pytest.raises(DeadlockError, match="top deadlocks: ") as caught:
        module(np.zeros((8, 8), np.int8), np.zeros((8, 8), np.int8), np.zeros((8, 8), np.int32))
    notes = notes_of(caught.value)
    assert sum(": pe waits to get from" in note for note in notes) == 64
    assert sum(": drain waits to get from" in note for note in notes) == 16
    assert sum("its writer feed_b has finished" in note for note in notes) == 1
