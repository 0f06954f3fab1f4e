"""``s.dependence`` that changes nothing: the report says so, why, and of which loop."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import allo
from allo.customize import Schedule
from allo.ir.types import float32, int32


def scatter(h: float32[16], place: int32[64], w: float32[64]):
    for i in range(64):
        p: int32 = place[i]
        x: float32 = h[p]
        h[p] = x + w[i]


def copied(a: int32[64], b: int32[64]):
    for i in range(64):
        b[i] = a[i] + 1


def told(
    kernel: Callable[..., None], pipelined: str, *marks: tuple[object, ...]
) -> tuple[int, list[str]]:
    """The cycles of a kernel with marks, and what its report says of them."""
    s: Schedule = allo.customize(kernel)
    if pipelined:
        s.pipeline(pipelined)
    for mark in marks:
        s.dependence(*mark)
    report = s.estimate()
    return report.cycles, [note for note in report.notes if "dependence" in note]


@pytest.mark.parametrize(
    ("kernel", "pipelined", "mark", "why"),
    [
        (
            scatter,
            "i",
            ("h", "i", "WAW"),
            "with II={ii} every order that the subscripts ask for is kept",
        ),
        (
            copied,
            "i",
            ("b", "i"),
            "the subscripts say that these accesses never meet in two iterations",
        ),
        (
            copied,
            "i",
            ("b", "i", "RAW"),
            "no two accesses of b in the pipeline are of the kind that it names",
        ),
        (
            scatter,
            "",
            ("h", "i"),
            "iterations of the loop run one after another, and no mark makes them overlap",
        ),
    ],
    ids=["another is longer", "affine", "no load", "no pipeline"],
)
def test_the_report_tells_a_mark_that_changes_nothing(kernel, pipelined, mark, why):
    cycles, notes = told(kernel, pipelined, mark)
    line = kernel.__code__.co_firstlineno + 1
    (note,) = notes
    assert note.startswith(
        f"`s.dependence` of {mark[0]} on loop i (test_idle_dependences.py:{line}:5) changes nothing: "
    )
    interval = note.partition("II=")[2].partition(" ")[0]
    assert note.endswith(why.format(ii=interval) + ".")
    assert told(kernel, pipelined) == (cycles, [])


def test_a_mark_that_changes_the_schedule_has_no_note():
    before, _ = told(scatter, "i")
    cycles, notes = told(scatter, "i", ("h", "i", "RAW"))
    assert cycles < before
    assert notes == []
