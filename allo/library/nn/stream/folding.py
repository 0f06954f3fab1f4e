"""The folding of each layer that a rate asks for, with the least of a device's resources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from allo.errors import OptionError
from allo.explore.networks.cheapest import cheapest

from .layers import Fold, Layer

KINDS = ("dsp", "lut", "bram")


@dataclass(frozen=True, slots=True)
class Target:
    """What a network shall reach.

    Attributes:
        fps: images a second.
        clock_mhz: of the design.
        resources: what there is of ``"dsp"``, ``"lut"`` and ``"bram"`` (blocks of 18 kbit).
    """

    fps: float
    clock_mhz: float
    resources: Mapping[str, int]

    @property
    def cycles(self) -> int:
        """That an image may take."""
        return int(self.clock_mhz * 1e6 / self.fps)


def choose(layers: Sequence[Layer], target: Target) -> dict[str, Fold]:
    """The folding of each layer, by its name, with which none takes more cycles than the target leaves.

    OR-tools' CP-SAT makes the sum of the shares of multipliers, lookup tables and blocks of memory least.

    Raises:
        OptionError: a layer that no folding makes quick enough, or foldings that take more than there is.
    """
    tables = []
    for layer in layers:
        found = list(layer.folds())
        quick = [fold for fold in found if fold.cycles <= target.cycles]
        if not quick:
            least = min(fold.cycles for fold in found)
            bound = target.clock_mhz * 1e6 / least
            raise OptionError(
                f"No folding of layer {layer.name} takes {target.cycles:,} cycles an image, as "
                f"{target.fps:,.0f} images a second at {target.clock_mhz:g} MHz ask: it takes {least:,} "
                "at least.",
                help=f"ask for at most {bound:,.0f} images a second, or a higher clock_mhz.",
            )
        tables.append(_undominated(quick))
    limits = {kind: target.resources[kind] for kind in KINDS}
    rows = [[{kind: getattr(fold, kind) for kind in KINDS} for fold in table] for table in tables]
    chosen = cheapest(rows, limits)
    if chosen is None:
        raise OptionError(_too_much(layers, tables, target), help=_HELP)
    return {
        layer.name: table[row] for layer, table, row in zip(layers, tables, chosen, strict=True)
    }


_HELP = "ask for fewer images a second, or give a larger device in resources=."


def _too_much(layers: Sequence[Layer], tables: Sequence[Sequence[Fold]], target: Target) -> str:
    """Which resource lacks most, and the layer that takes most of it."""
    least = {
        kind: [min(getattr(fold, kind) for fold in table) for table in tables] for kind in KINDS
    }
    worst = max(KINDS, key=lambda kind: sum(least[kind]) / max(target.resources[kind], 1))
    most = max(range(len(layers)), key=lambda number: least[worst][number])
    return (
        f"No foldings of the layers reach {target.fps:,.0f} images a second within the resources: of "
        f"{target.resources[worst]:,} {worst} they take {sum(least[worst]):,} at least, layer "
        f"{layers[most].name} {least[worst][most]:,} of them."
    )


def _undominated(folds: Sequence[Fold]) -> list[Fold]:
    """Those of which none takes less of everything."""
    kept: list[Fold] = []
    for fold in sorted(folds, key=lambda f: (f.dsp, f.lut, f.bram)):
        if not any(k.dsp <= fold.dsp and k.lut <= fold.lut and k.bram <= fold.bram for k in kept):
            kept.append(fold)
    return kept
