"""The time of a memory of flip-flops, whose word is chosen in tables, against what nextpnr 0.11 routed."""

from __future__ import annotations

import pytest

import allo
from allo.backend.rtl.resources.times.cells import CellDelays
from allo.dialects.reports.figures import DesignReport
from allo.ir.types import uint8


def walked(words: int) -> DesignReport:
    """Two words are written at once, so that ECP5 has no RAM for it; each read waits for the last."""

    def walk(first: uint8[words], steps: uint8[64], out: uint8[64]):
        held: uint8[words]
        for s in range(words // 2):
            held[2 * s] = first[2 * s]
            held[2 * s + 1] = first[2 * s + 1]
        place: uint8 = 0
        for n in range(64):
            a: uint8 = held[(place + steps[n]) & (words - 1)]
            out[n] = a
            place = a

    made = allo.customize(walk)
    made.pipeline("s")
    made.pipeline("n")
    return made.build(target="verilog", device="ecp5", clock_mhz=80).report


@pytest.mark.parametrize(("words", "read_ns", "mhz"), [(16, 2.7, 131), (32, 4.4, 104)])
def test_a_word_of_flip_flops_is_chosen_among_four_at_a_time(
    words: int, read_ns: float, mhz: float
) -> None:
    """Routed on ECP5, the median of three seeds; the read is that of the first seed's longest path."""
    report = walked(words)
    (read,) = (part for part in report.critical_path if part.what == "memory")
    assert read.delay_ns == pytest.approx(read_ns, rel=0.15)
    assert report.fmax_mhz == pytest.approx(mhz, rel=0.15)


def test_a_read_that_is_timed_as_one_of_ram_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    made = CellDelays.__init__

    class Nothing(set[int]):
        def add(self, number: int) -> None:
            """Forget it."""

    def forgetful(self: CellDelays, *given: object) -> None:
        made(self, *given)
        self.of_registers = Nothing()

    monkeypatch.setattr(CellDelays, "__init__", forgetful)
    with pytest.raises(AssertionError):
        test_a_word_of_flip_flops_is_chosen_among_four_at_a_time(32, 4.4, 104)
