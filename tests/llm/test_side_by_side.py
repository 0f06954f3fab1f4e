"""Steps of a reference that processes simulate beside each other, until time is up."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from allo.designs.llm.wide.block.rows import Rows, following
from allo.designs.llm.wide.block.tokens.ended import Ended
from benchmarks.llm_blocks import Taken
from benchmarks.llm_side_by_side import Step, forked, simulate_all

EVER = float("inf")


@dataclass
class Counted:
    """In the place of a design: a step takes a hundred cycles a row, from the entries that were there."""

    wrong: int = -1
    steps: list[Taken] = field(default_factory=list)
    entries: int = 0

    def foretell(self, rows: Rows, spoken: int) -> int:
        return 99 * len(rows)

    def resume(self, kept: dict[str, np.ndarray]) -> None:
        self.entries = kept["0.k"].shape[1]

    def step(self, rows: Rows, spoken: int, given: Ended | None) -> None:
        if len(rows) == self.wrong:
            raise RuntimeError("The logits are not those of the reference.")
        assert self.entries == int(rows.before[0])
        self.steps.append(Taken(len(rows), 100 * len(rows), 99 * len(rows), self.entries))

    def same_cache(self) -> None:
        pass


def steps(count: int) -> list[Step]:
    kept = {"0.k": np.zeros((1, 32, 4), np.int8)}
    return [Step("model", following(range(n + 1), n), 1, None, kept) for n in range(count)]


@pytest.mark.parametrize("workers", [1, 3, 9])
def test_every_step_is_simulated_once_and_told_in_its_place(workers: int) -> None:
    asked = steps(7)
    found = simulate_all({"model": Counted()}, asked, workers, EVER)
    assert [(one.rows, one.cycles, one.compared) for one in found] == [
        (n + 1, 100 * (n + 1), n) for n in range(7)
    ]


def test_what_time_does_not_suffice_for_is_foretold() -> None:
    asked = steps(4)
    for step, one in zip(asked, simulate_all({"model": Counted()}, asked, 2, 0.0), strict=True):
        step.taken = one
    assert [(step.is_simulated, step.cycles) for step in asked] == [
        (False, 99 * n) for n in range(1, 5)
    ]


def test_a_step_that_is_not_that_of_the_reference_ends_all() -> None:
    with pytest.raises(RuntimeError, match=r"The logits are not those of the reference\."):
        simulate_all({"model": Counted(wrong=3)}, steps(5), 2, EVER)


def test_work_in_a_process_gives_its_result_or_raises_what_it_failed_with() -> None:
    held = np.arange(5)
    waiting = [forked(lambda n=n: int(held[n])) for n in (3, 1, 9)]
    assert (waiting[0](), waiting[1]()) == (3, 1)
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        waiting[2]()
