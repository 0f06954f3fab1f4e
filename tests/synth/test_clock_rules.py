"""Rules of the estimated clock switched off one at a time: the tests of :mod:`test_clock` see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from allo.backend.devices import SignalDelays
from allo.backend.rtl.resources.times import cells
from tests.synth import test_clock as clock


def _without(rule: str, instead: float | None = False) -> Callable[[pytest.MonkeyPatch], None]:
    """Switches a rule of the delays of signals off."""
    made = SignalDelays.in_design

    def off(monkeypatch: pytest.MonkeyPatch) -> None:
        def without(self: SignalDelays, tables: int, blocks: int) -> SignalDelays:
            return replace(made(self, tables, blocks), **{rule: instead})

        monkeypatch.setattr(SignalDelays, "in_design", without)

    return off


@pytest.mark.parametrize(
    ("off", "check"),
    [
        (
            _without("skewed"),
            clock.test_the_carry_of_a_second_sum_runs_beside_that_of_the_first,
        ),
        (
            _without("joins_controls"),
            clock.test_a_condition_that_an_enable_joins_takes_a_table,
        ),
        (
            _without("mapping", None),
            clock.test_tables_are_chosen_by_the_delays_that_synthesis_knows,
        ),
        (
            _without("leaving", 0.0),
            clock.test_a_register_behind_a_register_has_a_wire,
        ),
        (
            lambda monkeypatch: monkeypatch.setattr(cells, "levels_of_rows", lambda *_: 0),
            clock.test_a_word_of_a_deep_memory_is_chosen_among_rows_of_blocks,
        ),
    ],
    ids=["carries", "enables", "tables", "register", "rows of blocks"],
)
def test_a_rule_that_is_switched_off_is_seen(
    off: Callable[[pytest.MonkeyPatch], None],
    check: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    off(monkeypatch)
    with pytest.raises(AssertionError):
        check()
