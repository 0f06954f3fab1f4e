"""Where a stream is no argument of a region, and what the messages say."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.hls.errors import HlsInterfaceError
from allo.errors import (
    AlloError,
    BoundaryError,
    BuildError,
    DataflowError,
    DeadlockError,
    InterfaceError,
    UndecidableError,
)
from allo.ir.types import Stream, int32
from tests.dataflow.ports import programs

TARGETS = {
    "simulator": {"target": "simulator"},
    "csim": {"target": "vhls"},
    "jit": {"target": "verilog", "simulator": "jit"},
}


def _refused(kind: type[AlloError], region) -> str:
    with pytest.raises(kind) as caught:
        df.customize(region)
    return str(caught.value)


def test_one_end_is_outside():
    @df.region()
    def both(A: Stream[int32, 2], B: int32[1]):
        @df.kernel(mapping=[1], args=[])
        def p():
            A.put(1)

        @df.kernel(mapping=[1], args=[B])
        def q(b: int32[1]):
            b[0] = A.get()

    message = _refused(DataflowError, both)
    assert (
        "Both ends of the stream A are in the region both, of which it is an argument." in message
    )
    assert "b[0] = A.get()" in message and "help: declare A inside the region" in message


def test_it_is_used():
    @df.region()
    def unused(A: Stream[int32, 2], B: int32[1]):
        @df.kernel(mapping=[1], args=[B])
        def q(b: int32[1]):
            b[0] = 1

    message = _refused(DataflowError, unused)
    assert "No kernel of the region unused puts into or gets from its stream A." in message


def test_kernels_use_it_by_name():
    @df.region()
    def passed(A: Stream[int32, 2], B: int32[1]):
        @df.kernel(mapping=[1], args=[A, B])
        def q(a: Stream[int32, 2], b: int32[1]):
            b[0] = a.get()

    message = _refused(DataflowError, passed)
    assert "The stream 'A' cannot appear in args= of q." in message
    assert "help: use A by name inside the kernel: A.get(), A.put(value)." in message


@df.region()
def inside(s: Stream[int32, 2], b: int32[1]):
    @df.kernel(mapping=[1], args=[b])
    def q(x: int32[1]):
        x[0] = s.get()


def test_the_outermost_region_alone_has_one():
    @df.region()
    def outer(A: int32[1], B: int32[1]):
        t: Stream[int32, 2]

        @df.kernel(mapping=[1], args=[A])
        def p(a: int32[1]):
            t.put(a[0])

        @df.kernel(mapping=[1], args=[B])
        def k(b: int32[1]):
            inside(t, b)

    message = _refused(DataflowError, outer)
    assert "Argument s of the region inside, which a kernel calls, is a stream." in message


@pytest.mark.parametrize("options", TARGETS.values(), ids=TARGETS)
def test_a_process_that_ends_and_has_too_few_words_deadlocks(options):
    module = df.build(programs.counted, **options)
    b, total = np.zeros(8, np.int32), np.zeros(1, np.int32)
    with pytest.raises(DeadlockError) as caught:
        module(np.arange(3, dtype=np.int32), b, total, 5)
    message = str(caught.value)
    assert "first_0 waits to get from stream A" in message
    assert "its outside fed 3 of 3 words" in message
    assert "its writer first_0 waits to get from stream A." in message


def test_an_array_of_other_words_is_refused():
    module = df.build(programs.blocks, target="simulator")
    with pytest.raises(BoundaryError) as caught:
        module(np.zeros((2, 2, 2), np.float32), np.zeros((2, 3), np.float32))
    assert "Argument A of blocks, declared f32[..., 2, 3]: got an array of shape (2, 2, 2)." in str(
        caught.value
    )


def test_verify_cannot_decide_it():
    with pytest.raises(UndecidableError) as caught:
        allo.verify(df.customize(programs.once), df.customize(programs.once))
    assert "Argument A of once is a stream" in str(caught.value)


def test_a_test_bench_needs_an_end(tmp_path):
    module = df.build(programs.forever, target="verilog", simulator="jit")
    with pytest.raises(BuildError) as caught:
        module.write_testbench(np.zeros(2, np.int32), np.zeros(1, np.int16), path=tmp_path / "tb")
    assert "No process of forever ends, and a test bench waits for the end." in str(caught.value)


def test_a_host_program_passes_no_stream(tmp_path):
    with pytest.raises(HlsInterfaceError) as caught:
        df.build(programs.once, target="vitis_hls", mode="hw", project=str(tmp_path / "p"))
    assert "Argument A of once is a stream, and the host program of mode 'hw'" in str(caught.value)


def test_the_text_for_vitis_has_stream_ports(tmp_path):
    module = df.build(programs.forever, target="vitis_hls", project=str(tmp_path / "p"))
    text = module.hls_code
    assert "void forever(\n  hls::stream< int32_t >& A,\n  hls::stream< int16_t >& B\n)" in text
    for line in ("axis port=A", "axis port=B", "ap_ctrl_none port=return"):
        assert f"#pragma HLS interface {line}" in text
    files = {file.name for file in (tmp_path / "p").iterdir()}
    assert {"kernel.cpp", "run.tcl"} <= files and not files & {"host.cpp", "tb.cpp"}
    assert "add_files -tb" not in (tmp_path / "p" / "run.tcl").read_text()
    assert "port=return" not in str(df.build(programs.once, target="vitis_hls", mode=None))


def test_a_board_waits_for_an_end():
    with pytest.raises(InterfaceError) as caught:
        df.build(programs.forever, target="verilog", configs={"interface": "axis"})
    message = str(caught.value)
    assert "No process of forever ends, and the control of a board waits for the end" in message
    assert "TDATA, TVALID and TREADY" in message


def test_axi_streams_of_a_region():
    module = df.customize(programs.counted).build(
        target="verilog", simulator="jit", configs={"interface": {"A": "axis", "B": "axis"}}
    )
    a, b, total = np.arange(8, dtype=np.int32), np.zeros(8, np.int32), np.zeros(1, np.int32)
    module(a, b, total, 8)
    np.testing.assert_array_equal(b, 2 * a)
    assert total[0] == 56 and module.words == {"A": 8, "B": 8}
    assert "A_TVALID" in module.verilog and "B_TREADY" in module.verilog
