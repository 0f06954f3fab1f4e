"""The character transformer on a simulated board, whose weights pass from the SDRAM while it runs."""

from __future__ import annotations

from scripts.demos.board_models import answers


def test_the_first_token_is_that_of_the_reference() -> None:
    found = answers("transformer", 1)
    assert found["equal"] == 1
    assert 100_000 < found["cycles"][0] < 150_000
