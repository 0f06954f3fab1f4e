"""LeNet on a simulated board."""

from __future__ import annotations

from scripts.demos.board_models import answers


def test_scores_are_those_of_the_reference() -> None:
    found = answers("lenet", 4)
    assert found["equal"] == 4
    assert max(found["cycles"]) < 5000
