"""Random designs with random stalls, a few of those that ``scripts/soak-buses`` runs."""

from __future__ import annotations

import pytest

from allo.backend.rtl.interfaces import masters

from . import soak
from .planted import plant


@pytest.mark.parametrize("kind", soak.INTERFACES)
def test_random_designs(kind, monkeypatch) -> None:
    monkeypatch.setattr(soak, "RUNS", 6)
    found = soak.soak(kind, 24, seed=100)
    assert (found.designs, found.runs, found.failures) == (4, 24, 0)


def test_a_fault_is_counted(monkeypatch, capsys) -> None:
    monkeypatch.setattr(soak, "RUNS", 6)
    plant(
        monkeypatch,
        masters,
        '("WLAST", last, 1)',
        '("WLAST", text.const(0, 1), 1)',
        "reader_module",
        "writer_module",
    )
    assert soak.soak("m_axi", 6, seed=100).failures == 1
    assert "WLAST on another word" in capsys.readouterr().out
