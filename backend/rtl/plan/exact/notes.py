"""What an exact search has found, as sentences of a design's report."""

from __future__ import annotations

from ..explain import short
from .proof import Figure, Proof
from .search import Exact


def notes_of(exact: Exact | None) -> list[str]:
    """A sentence for each loop that was searched, or was not and why."""
    if exact is None:
        return []
    return list(dict.fromkeys(_sentence(proof) for proof in exact.proofs if proof.name))


def _sentence(proof: Proof) -> str:
    where = f"Loop {proof.name} ({short(proof.place)})"
    if proof.without or proof.ii is None or proof.depth is None or proof.area is None:
        return f"{where} has the schedule found first: {proof.without}."
    return (
        f"{where} was scheduled exactly: II {_said(proof.ii)}, {_said(proof.depth)} cycles an iteration, "
        f"{_said(proof.area)} cells that keep values and of shared units."
    )


def _said(figure: Figure) -> str:
    """A figure, what it was before, and how low it could be."""
    before = "" if figure.found == figure.first else f", {figure.first} before"
    bound = "the least" if figure.proved else f"at least {figure.bound}"
    return f"{figure.found} ({bound}{before})"
