"""The folding of each layer that a rate or a latency asks for, with the least of a device's resources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from allo.errors import OptionError
from allo.explore.networks.cheapest import cheapest

from ..layers import Fold, Layer, Whole
from ..whole import cycles_of
from .latency import demand, evaluate, total
from .timing import Cycles, cycles

KINDS = ("dsp", "lut", "bram")


@dataclass(frozen=True, slots=True)
class Target:
    """What a network shall reach.

    Attributes:
        fps: images a second.
        clock_mhz: of the design.
        resources: what there is of ``"dsp"``, ``"lut"`` and ``"bram"`` (blocks of 18 kbit).
        latency_ns: of an image that comes alone, from its first element to the last one of its result;
            None for any.
    """

    fps: float
    clock_mhz: float
    resources: Mapping[str, int]
    latency_ns: float | None = None

    @property
    def cycles(self) -> int:
        """That an image may take."""
        return int(self.clock_mhz * 1e6 / self.fps)

    @property
    def latency(self) -> int | None:
        """Cycles from the first element of an image to the last one of its result."""
        return None if self.latency_ns is None else int(self.clock_mhz * self.latency_ns / 1000)


def choose(
    layers: Sequence[Layer], target: Target, image: tuple[str, int] | None = None
) -> dict[str, Fold]:
    """The folding of each layer, by its name, with which the network reaches the target.

    OR-tools' CP-SAT makes the sum of the shares of multipliers, lookup tables and blocks of memory least.

    Args:
        layers: in an order in which each reads earlier ones.
        target: the target.
        image: for a latency, the name of the image, and its elements.

    Raises:
        OptionError: a layer that no folding makes quick enough, or foldings that take more than there is.
    """
    tables = [_quick(layer, target) for layer in layers]
    limits = {kind: target.resources[kind] for kind in KINDS}
    if target.latency is None or image is None:
        tables = [_undominated(table, _area) for table in tables]
        chosen = cheapest(_rows(tables), limits)
        if chosen is None:
            raise OptionError(
                _too_much(layers, tables, target), help=_HELP if target.fps >= 1 else _LARGER
            )
        return _folds(layers, tables, chosen)
    works = works_of(layers)
    timed = [
        [(fold, cycles(layer, fold, works)) for fold in table]
        for layer, table in zip(layers, tables, strict=True)
    ]
    kept = [_undominated(table, _area_and_time) for table in timed]
    tables = [[fold for fold, _ in table] for table in kept]
    times = [[time for _, time in table] for table in kept]
    met = demand(layers, image, times, target.latency)
    chosen = cheapest(_rows(tables), limits, met)
    if chosen is not None:
        return _folds(layers, tables, chosen)
    quickest = demand(layers, image, times, None)
    free = dict.fromkeys(KINDS, _PLENTY)
    least = cheapest(_rows(tables), free, quickest) or []
    bound, slowest = _bound(layers, image, times, least)
    if bound <= target.latency:
        least = cheapest(_rows(tables), limits, quickest) or []
        if not least:
            raise OptionError(_too_much(layers, tables, target), help=_LARGER)
        bound, slowest = _bound(layers, image, times, least)
        raise OptionError(
            _too_slow(target, " within the resources", bound, slowest),
            help=f"ask for at least {_ns(bound, target):,} ns, or give a larger device in resources=.",
        )
    raise OptionError(
        _too_slow(target, "", bound, slowest),
        help=f"ask for at least {_ns(bound, target):,} ns, or a higher clock_mhz.",
    )


_HELP = "ask for fewer images a second, or give a larger device in resources=."
_LARGER = "give a larger device in resources=."
_PLENTY = 1 << 30


def latency(layers: Sequence[Layer], image: tuple[str, int], folds: Mapping[str, Fold]) -> int:
    """Cycles from the first element of an image that comes alone to the last one of its result.

    Args:
        layers: in an order in which each reads earlier ones.
        image: its name, and its elements.
        folds: of the layers.
    """
    works = works_of(layers)
    found = {layer.name: cycles(layer, folds[layer.name], works) for layer in layers}
    return total(layers, evaluate(layers, image, found))


def works_of(layers: Sequence[Layer]) -> dict[str, int]:
    """The cycles of the functions of layers on whole images, which are built to know them."""
    return {layer.name: cycles_of(layer.function) for layer in layers if isinstance(layer, Whole)}


def _quick(layer: Layer, target: Target) -> list[Fold]:
    """The foldings of a layer that reach the rate."""
    found = list(layer.folds())
    quick = [fold for fold in found if fold.cycles <= target.cycles]
    if quick:
        return quick
    least = min(fold.cycles for fold in found)
    bound = target.clock_mhz * 1e6 / least
    raise OptionError(
        f"No folding of layer {layer.name} takes {target.cycles:,} cycles an image, as "
        f"{target.fps:,.0f} images a second at {target.clock_mhz:g} MHz ask: it takes {least:,} "
        "at least.",
        help=f"ask for at most {bound:,.0f} images a second, or a higher clock_mhz.",
    )


def _bound(
    layers: Sequence[Layer],
    image: tuple[str, int],
    times: Sequence[Sequence[Cycles]],
    rows: Sequence[int],
) -> tuple[int, str]:
    """The cycles of some foldings, and what takes most of them."""
    chosen = {layer.name: table[row] for layer, table, row in zip(layers, times, rows, strict=True)}
    found = evaluate(layers, image, chosen)
    slowest = f"{image[1]:,} go to the image, an element in each"
    most = image[1]
    for layer in layers:
        mine = int(found[layer.name][2] - max(found[read][2] for read in layer.reads))
        if mine > most:
            most, slowest = mine, f"{mine:,} go to layer {layer.name}"
    return total(layers, found), slowest


def _too_slow(target: Target, where: str, bound: int, slowest: str) -> str:
    return (
        f"No foldings of the layers take {target.latency_ns:,g} ns ({target.latency:,} cycles at "
        f"{target.clock_mhz:g} MHz){where} from the first element of an image to the last one of its "
        f"result: they take {_ns(bound, target):,} ns ({bound:,} cycles) at least, of which {slowest}."
    )


def _ns(cycles: int, target: Target) -> int:
    return ceil(cycles * 1000 / target.clock_mhz)


def _rows(tables: Sequence[Sequence[Fold]]) -> list[list[dict[str, int]]]:
    return [[{kind: getattr(fold, kind) for kind in KINDS} for fold in table] for table in tables]


def _folds(
    layers: Sequence[Layer], tables: Sequence[Sequence[Fold]], chosen: Sequence[int]
) -> dict[str, Fold]:
    return {
        layer.name: table[row] for layer, table, row in zip(layers, tables, chosen, strict=True)
    }


def _too_much(layers: Sequence[Layer], tables: Sequence[Sequence[Fold]], target: Target) -> str:
    """Which resource lacks most, and the layer that takes most of it."""
    least = {
        kind: [min(getattr(fold, kind) for fold in table) for table in tables] for kind in KINDS
    }
    worst = max(KINDS, key=lambda kind: sum(least[kind]) / max(target.resources[kind], 1))
    most = max(range(len(layers)), key=lambda number: least[worst][number])
    rate = f"reach {target.fps:,.0f} images a second" if target.fps >= 1 else "fit"
    return (
        f"No foldings of the layers {rate} within the resources: of "
        f"{target.resources[worst]:,} {worst} they take {sum(least[worst]):,} at least, layer "
        f"{layers[most].name} {least[worst][most]:,} of them."
    )


def _area(fold: Fold) -> tuple[int, ...]:
    return fold.dsp, fold.lut, fold.bram


def _area_and_time(one: tuple[Fold, Cycles]) -> tuple[int, ...]:
    time = one[1]
    return *_area(one[0]), time.first, time.delay, time.work, time.tail


def _undominated[T](choices: Sequence[T], taken: Callable[[T], tuple[int, ...]]) -> list[T]:
    """Those of which none takes less of everything."""
    kept: list[T] = []
    for choice in sorted(choices, key=taken):
        mine = taken(choice)
        if not any(all(a <= b for a, b in zip(taken(k), mine, strict=True)) for k in kept):
            kept.append(choice)
    return kept
