"""The dataflow language: ``import allo.dataflow as df``.

A region holds streams and kernels; every kernel instance is a process, and a stream is a FIFO
between two of them::

    @df.region()
    def top(A: float32[M, N], B: float32[M, N]):
        pipe: Stream[float32, 4]

        @df.kernel(mapping=[1], args=[A])
        def producer(a: float32[M, N]):
            for i, j in allo.grid(M, N):
                pipe.put(a[i, j])

        @df.kernel(mapping=[1], args=[B])
        def consumer(b: float32[M, N]):
            for i, j in allo.grid(M, N):
                b[i, j] = pipe.get() + 1

    module = df.build(top, target="simulator")
"""

from __future__ import annotations

from typing import NoReturn

from allo.dialects.text.near import unknown_attribute
from allo.frontend.composition import Composition

from .build import build, customize
from .language import gather, get_pid, kernel, part, region, scatter

__all__ = [
    "Composition",
    "build",
    "customize",
    "gather",
    "get_pid",
    "kernel",
    "part",
    "region",
    "scatter",
]


def __getattr__(name: str) -> NoReturn:
    raise unknown_attribute("allo.dataflow", name, __all__)
