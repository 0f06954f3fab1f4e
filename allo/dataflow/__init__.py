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
from allo.dialects.text.not_provided import not_provided
from allo.frontend.composition import Composition

from .build import build, customize, df_primitive_default
from .language import gather, get_pid, kernel, part, region, scatter

__all__ = [
    "Composition",
    "build",
    "customize",
    "df_primitive_default",
    "gather",
    "get_pid",
    "kernel",
    "part",
    "region",
    "scatter",
]

_DONE = "is a step of a compiler that is not here; df.customize has done its work."
move_stream_to_interface = not_provided(
    "df.move_stream_to_interface",
    _DONE,
    "the kernels of s.module take their streams as arguments already.",
)
_build_top = not_provided(
    "df._build_top",
    _DONE,
    "the top function of s.module calls every kernel already; s.top_func is it.",
)
remove_unused_func_ops = not_provided(
    "df.remove_unused_func_ops",
    _DONE,
    "every build leaves out functions that nothing calls and processes with an empty body.",
)


def __getattr__(name: str) -> NoReturn:
    raise unknown_attribute("allo.dataflow", name, __all__)
