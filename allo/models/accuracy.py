"""The accuracy of a model before and after it is quantised."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from io import StringIO
from math import log10
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from allo.models.integers.arithmetic import Array

_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Row:
    """One model.

    Attributes:
        name: ``"float32"`` or the scheme.
        accuracy: the share of samples whose highest score is that of their label; None without labels.
        agreement: the share of samples whose highest score is the float model's.
        signal_to_noise_db: power of the float results over that of the difference; None where equal.
        largest_error: the largest difference from the float results.
    """

    name: str
    accuracy: float | None
    agreement: float
    signal_to_noise_db: float | None
    largest_error: float

    @staticmethod
    def of(name: str, found: Sequence[Array], floats: Sequence[Array], labels: Array | None) -> Row:
        """Compare results with those of the float model."""
        mine, theirs = (np.stack(list(results)).astype(np.float64) for results in (found, floats))
        classes, wanted = (x.argmax(-1).reshape(-1) for x in (mine, theirs))
        noise = float(((mine - theirs) ** 2).sum())
        ratio = 10 * log10(float((theirs**2).sum()) / noise) if noise else None
        return Row(
            name,
            None if labels is None else float((classes == labels).mean()),
            float((classes == wanted).mean()),
            ratio,
            float(np.abs(mine - theirs).max()),
        )


@dataclass(frozen=True, slots=True)
class AccuracyTable:
    """A row for the float model, and one for the quantised model; its text is a table.

    Attributes:
        rows: the models.
        samples: how many there were.
    """

    rows: tuple[Row, ...]
    samples: int

    def to_json(self) -> str:
        """The figures."""
        return json.dumps(self.to_dict(), indent=2)

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values."""
        return {"samples": self.samples, "rows": [asdict(row) for row in self.rows]}

    def __rich__(self) -> Table:
        table = Table(
            "model", "accuracy", "agreement", "signal to noise", "largest error", box=box.SIMPLE
        )
        for row in self.rows:
            ratio = row.signal_to_noise_db
            table.add_row(
                row.name,
                "" if row.accuracy is None else f"{row.accuracy:.2%}",
                f"{row.agreement:.2%}",
                "" if ratio is None else f"{ratio:.1f} dB",
                f"{row.largest_error:.3g}",
            )
        return table

    def __str__(self) -> str:
        text = StringIO()
        Console(file=text, width=_WIDTH).print(self.__rich__())
        return text.getvalue()
