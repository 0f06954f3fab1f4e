"""Calls over a line with errors are right or refused by name; a host that skips the check is seen."""

from __future__ import annotations

import pytest

from allo.boards.host import link
from allo.errors import PortError

from .soak import soak


def check(design: str, calls: int, rate: int, link: str = "uart") -> None:
    found = soak(calls, rate, 5, design, link)
    assert found["wrong"] == 0
    assert found["right"] >= calls // 2
    assert found["right"] + found["refused"] == calls


@pytest.mark.parametrize("design", ["arrays", "streams"])
def test_calls_over_a_bad_line_are_right_or_refused(design: str) -> None:
    check(design, 100, 2000)


def test_calls_through_a_fifo_that_damages_bytes_are_right_or_refused() -> None:
    check("arrays", 60, 300, "fifo245")


def test_arrays_in_memory_over_a_bad_line_are_right_or_refused() -> None:
    check("memory", 50, 300)


class Trusted(bytes):
    """A check that agrees with any other."""

    def __getitem__(self, key):
        return Trusted(super().__getitem__(key))

    def __ne__(self, other):
        return False

    __hash__ = bytes.__hash__


def test_a_host_that_trusts_replies_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = link.checked
    monkeypatch.setattr(link, "checked", lambda body: Trusted(honest(body)))
    try:
        wrong = soak(60, 2000, 5)["wrong"]
    except PortError:  # even a damaged digest was believed
        wrong = 1
    assert wrong > 0
