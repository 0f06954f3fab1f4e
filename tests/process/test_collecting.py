"""Work without garbage collection: it is as before afterwards, whatever happens meanwhile."""

from __future__ import annotations

import gc
import threading

import pytest

import allo
from allo.backend.rtl.circt import in_circt
from allo.dialects.processes.collecting import without_collection
from allo.ir.types import int32


def test_nothing_is_collected_meanwhile() -> None:
    assert gc.isenabled()
    with without_collection():
        assert not gc.isenabled()
        with without_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_lets_it_go_on() -> None:
    with pytest.raises(ValueError, match="wrong"), without_collection():
        raise ValueError("wrong")
    assert gc.isenabled()


def test_who_has_switched_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        with without_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_blocks_of_two_threads_may_overlap() -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with without_collection():
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(30)
    with without_collection():
        leave.set()
        thread.join(30)
    assert not thread.is_alive()
    assert gc.isenabled()


def test_a_build_leaves_it_as_it_was() -> None:
    def kernel(A: int32[8]) -> int32[8]:
        B: int32[8]
        for i in range(8):
            B[i] = A[i] * 3
        return B

    s = allo.customize(kernel)
    assert "module kernel(" in str(s.build(target="verilog"))
    assert gc.isenabled()
    assert s.estimate().cycles
    assert gc.isenabled()


def test_the_process_of_circt_does_not_collect_what_it_imported() -> None:
    """Its modules and operations are many; it collects behind each answer."""
    assert in_circt("gc:get_freeze_count") > 10_000
