"""Processes that never end in the vendors' text."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import allo.dataflow as df
from allo.backend.hls.csim.headers import SHIMS, open_headers
from allo.errors import UnsupportedOpError
from allo.ir.types import Stream, int32
from tests.dataflow.endless.programs import N, helped, sums
from tests.hls.programs import program

TASK_SHIM = Path(__file__).parents[2] / "hls" / "task_shim"

MAIN = """
#include <stdio.h>
#include <stdlib.h>
int main() {
  int32_t a[8] = {-3, -2, -1, 0, 1, 2, 3, 4}, b[8] = {0};
  sums(a, b);
  for (int i = 0; i < 8; i++) printf("%d ", b[i]);
  fflush(stdout);
  _Exit(0);
}
"""


def _text(region, target: str) -> str:
    return str(df.customize(region).build(target=target, mode=None))


def test_the_process_is_a_task_beside_the_functions_of_the_region():
    text = _text(sums, "vitis_hls")
    body = text[text.index("#pragma HLS dataflow") :]
    lines = [line.split("\t")[0].strip() for line in body.splitlines()]
    assert "#include <hls_task.h>" in text
    assert "hls_thread_local hls::stream< int32_t > s;" in lines
    task = lines.index("hls_thread_local hls::task worker_0_task(worker_0, s, t);")
    assert task < lines.index("source_0(buf0, s);")
    assert not re.search(r"while \(true\) \{[^\n]*\n\s*if \(!", text)


def test_a_region_whose_processes_end_has_no_task():
    @df.region()
    def plain(A: int32[N], B: int32[N]):
        s: Stream[int32, 2]

        @df.kernel(mapping=[1], args=[A])
        def source(a: int32[N]):
            for i in range(N):
                s.put(a[i])

        @df.kernel(mapping=[1], args=[B])
        def sink(b: int32[N]):
            for i in range(N):
                b[i] = s.get()

    text = _text(plain, "vitis_hls")
    assert "hls_task" not in text and "hls_thread_local" not in text


def test_the_text_runs_as_the_documentation_of_hls_task_says(tmp_path):
    """By g++, with threads for the tasks."""
    (tmp_path / "kernel.cpp").write_text(_text(sums, "vhls") + MAIN)
    folders = (TASK_SHIM, SHIMS, open_headers())
    command = ["g++", "-std=c++17", "-w", "-pthread", *(f"-I{folder}" for folder in folders)]
    run = program(tmp_path, command, ["kernel.cpp"])
    ran = subprocess.run([run], check=True, timeout=60, capture_output=True, text=True)
    a = np.arange(8) - 3
    expected = np.cumsum(a) - np.concatenate([np.zeros(4, int), a[:-4]])
    assert [int(word) for word in ran.stdout.split()] == expected.tolist()


def test_tapa_detaches_it():
    text = _text(helped, "tapa")
    assert ".invoke<tapa::detach>(worker_0, s, t)" in text
    assert ".invoke(source_0, A, s)" in text and "hls_task" not in text


def test_catapult_has_no_such_processes():
    with pytest.raises(UnsupportedOpError) as caught:
        _text(sums, "catapult")
    assert "The process worker_0 never ends: a block of catapult is called again" in str(
        caught.value
    )
    assert "build for vitis_hls, tapa or verilog" in str(caught.value)


def test_a_task_takes_streams_alone():
    @df.region()
    def scaled(A: int32[N], B: int32[N]):
        s: Stream[int32, 2]

        @df.kernel(mapping=[1], args=[A])
        def table(a: int32[N]):
            i: int32 = 0
            while True:
                s.put(a[i % N])
                i += 1

        @df.kernel(mapping=[1], args=[B])
        def sink(b: int32[N]):
            for i in range(N):
                b[i] = s.get()

    with pytest.raises(UnsupportedOpError) as caught:
        _text(scaled, "vitis_hls")
    assert (
        "table_0 never ends, so it is an hls::task, which takes streams and nothing else; it has a."
        in str(caught.value)
    )
    a, b = np.arange(N, dtype=np.int32), np.zeros(N, np.int32)
    df.build(scaled, target="simulator")(a, b)
    np.testing.assert_array_equal(b, a)
