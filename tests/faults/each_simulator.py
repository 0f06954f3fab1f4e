"""Simulate one kernel in the ways named on the command line, and print what each gives (18)."""

import sys
import tempfile
from pathlib import Path

import numpy as np

import allo
import allo.dataflow as df
from allo.ir.types import Stream, int32


def dot(A: int32[4], n: int32) -> int32:
    s: int32 = 0
    for i in range(4):
        s += A[i] * n
    return s


@df.region()
def region(A: int32[4], B: int32[4]):
    pipe: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def feed(a: int32[4]):
        for i in range(4):
            pipe.put(a[i])

    @df.kernel(mapping=[1], args=[B])
    def take(b: int32[4]):
        for i in range(4):
            b[i] = pipe.get() * 3


def run(which: str) -> int:
    A, B = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    if which == "simulator":
        df.customize(region).build(target="simulator")(A, B)
        return int(B.sum())
    if which == "external":
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "ip.cpp"
            source.write_text(
                "void ip(int a[4], int b[4]) { for (int i = 0; i < 4; i++) b[i] = a[i] * 3; }"
            )
            allo.IPModule(top="ip", impl=str(source))(A, B)
        return int(B.sum())
    options = {"csim": {"target": "vhls"}, "jit": {"target": "verilog", "simulator": "jit"}}
    return allo.customize(dot).build(**options[which])(A, 3)


for name in sys.argv[1].split(","):
    sys.stdout.write(f"{run(name)}\n")
