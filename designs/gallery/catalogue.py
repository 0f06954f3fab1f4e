"""The designs of the gallery, in the order of its pages.

A design's module has ``schedule()``, ``inputs(rng)`` and ``reference(*arrays)``, which works in place
and returns what the kernel returns. Where the reference computes in floating point, the module's
``TOLERANCE`` says how far an element may lie from it. Its docstring is the text of its page: a title
with what it does, then paragraphs, of which those that begin with ``Hardware:``, ``Interval:``,
``Source:`` and ``Used in:`` have a place of their own.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import ModuleType


@dataclass(frozen=True)
class Entry:
    """One design.

    Attributes:
        family: the folder of its module.
        name: the name of its module and of its page.
        kernels: its functions that become hardware.
        wave: signals to draw beside the ports, by their names in the Verilog of the top.
        wave_from: the first cycle that is drawn; the cycle of start is 0.
    """

    family: str
    name: str
    kernels: tuple[str, ...]
    wave: tuple[str, ...] = ()
    wave_from: int = 0

    @property
    def path(self) -> str:
        """The file of the module in the repository."""
        return f"designs/gallery/{self.family}/{self.name}.py"

    def load(self) -> ModuleType:
        """The module."""
        return importlib.import_module(f"{__package__}.{self.family}.{self.name}")


FFT_WAVE = tuple(
    f"one_pass.{name}"
    for name in (
        "start",
        "from_re_0_p0_addr",
        "from_re_0_p0_rdata",
        "from_re_0_p1_addr",
        "from_re_0_p1_rdata",
        "to_re_0_p0_addr",
        "to_re_0_p0_wdata",
        "to_re_0_p1_addr",
        "to_re_0_p1_wdata",
    )
)
SYSTOLIC_WAVE = tuple(
    name for i in range(4) for name in (f"along_{i}_fifo.out_data", f"cell_{i}_i.total")
)
SMITH_WATERMAN_WAVE = tuple(name for j in range(1, 5) for name in (f"passing_{j}", f"last_{j}"))
ENTRIES = (
    Entry("signal", "fir", ("fir",), ("z_0", "z_1")),
    Entry("signal", "biquad", ("biquad",), ("s1", "s2")),
    Entry("signal", "fft", ("one_pass", "fft"), FFT_WAVE, wave_from=67),
    Entry("signal", "cordic", ("cordic",)),
    Entry("numeric", "histogram", ("histogram",), wave_from=256),
    Entry("numeric", "prefix_sum", ("prefix_sum",), ("carry",)),
    Entry("numeric", "reciprocal", ("reciprocal",), wave_from=16),
    Entry("numeric", "spmv", ("spmv",), ("total", "row")),
    Entry("numeric", "systolic_matvec", ("systolic_matvec",), SYSTOLIC_WAVE),
    Entry("sorting", "bitonic", ("bitonic",)),
    Entry(
        "sorting",
        "merge_streams",
        ("merge_streams",),
        ("left_fifo.out_data", "right_fifo.out_data", "merge_0_i.from_left", "merged_fifo.in_data"),
    ),
    Entry("sorting", "insertion_queue", ("insertion_queue",), ("cell_0", "cell_1", "cell_2")),
    Entry("crypto", "sha256", ("turn", "sha256"), ("state_0", "state_4")),
    Entry("crypto", "crc32", ("crc32",), ("rest",)),
    Entry("crypto", "chacha20", ("quarter", "chacha20"), wave_from=32),
    Entry("crypto", "lfsr", ("lfsr",), ("state",)),
    Entry("image", "convolution", ("convolution",), wave_from=68),
    Entry("image", "median", ("middle", "median"), wave_from=68),
    Entry("image", "life", ("next_row", "life"), ("above", "here")),
    Entry("strings", "smith_waterman", ("smith_waterman",), SMITH_WATERMAN_WAVE, wave_from=21),
    Entry("strings", "levenshtein", ("levenshtein",), ("grows", "falls", "distance"), wave_from=68),
    Entry(
        "strings",
        "run_length",
        ("run_length",),
        ("source_fifo.out_data", "encode_0_i.length", "runs_fifo.out_data"),
    ),
)


def find(name: str) -> Entry:
    """The design of one name.

    Raises:
        KeyError: when there is none.
    """
    for entry in ENTRIES:
        if entry.name == name:
            return entry
    names = ", ".join(entry.name for entry in ENTRIES)
    raise KeyError(f"The gallery has no design {name!r}; there are {names}.")
