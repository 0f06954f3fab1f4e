"""Words that ports of several kinds bring from channels that they share, against sums done by hand."""

from __future__ import annotations

import pytest

from allo.designs.llm.wide.external.flow import Attention, Flow, Port, Step


def test_hungry_ports_share_by_their_lines_on_the_way():
    """Two loaders with 6 lines each and one with 4: of 2 lines a cycle, three quarters and one quarter."""
    loaders, cache = Port(2, 1.0, 6, 100, left=1e6), Port(1, 2.0, 4, 100, left=1e6)
    assert Flow(2.0, 1.0, (loaders, cache)).rates((0.0, 0.0)) == [0.75, 0.25]


def test_a_full_stream_leaves_its_share_to_the_others():
    full, other = Port(1, 1.0, 8, 10, left=1e6, ahead=10.0), Port(1, 1.0, 8, 10, left=1e6)
    flow = Flow(1.0, 1.0, (full, other))
    assert flow.rates((0.0, 0.0)) == [0.0, 1.0]
    assert flow.rates((0.25, 0.0)) == [0.25, 0.75]


def test_a_port_brings_no_more_than_its_latency_allows():
    """4 lines on their way, each for 16 cycles."""
    assert Flow(8.0, 16.0, (Port(1, 1.0, 4, 10, left=100.0),)).rates((1.0,)) == [0.25]


@pytest.mark.parametrize(("size", "expected"), [(0.01, 412.0), (2.0, 840.0)])
def test_a_layer_takes_its_pauses_or_what_its_words_need(size: float, expected: float):
    """Pauses of 10 and jobs of 100, 50, 100 and 50 words; two heads of 30 keys, and as many values.

    Keys begin 8 cycles behind the first 70 words, at 88. Peaks are there at 123 and 153, so the values end
    at 183, the projection begins at 192, and the last job ends at 412. Where each of the 420 words takes 2
    lines, and a cycle brings one, the lines need longer.
    """
    ports = Port(1, size, 64, 1000), Port(1, size, 64, 100), Port(1, size, 64, 100)
    about = Attention(heads=2, old=30, turns=30, dealt=8, scored=5, ended=9, values=30)
    jobs = [(10.0, 100), (None, 50), (10.0, 100), (10.0, 50)]
    step = Step(Flow(1.0, 1.0, ports), about, jobs)
    assert step.run() == pytest.approx(expected, rel=0.01)
    assert step.pauses + step.starved + 300 == pytest.approx(step.flow.now)
