"""Banks beyond those that tiles need: where windows of neighbours would meet at the ports of a bank."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from math import prod

from .model.kernel import Access, Dimension, Kernel, Nest
from .model.rows import PORTS, Row
from .solve import Choice

MORE = (1, 2, 3, 4, 5, 6, 8)
"""By how much the banks of a dimension are multiplied."""
MOST = 20_000
"""Accesses of a tile that are counted; of more nothing is found out."""


def spread_banks(kernel: Kernel, choice: Choice) -> dict[Dimension, int]:
    """The banks of a choice, and more of the arrays of which a window of neighbours is read at once."""
    banks = dict(choice.banks)
    for name, array in kernel.arrays.items():
        users = [
            (kernel.nests[n], row)
            for n, row in choice.rows.items()
            if _windows(kernel.nests[n], name)
        ]
        if not users or array.obstacle or array.banked or min(array.shape, default=0) < 1:
            continue
        rank = len(array.shape)
        base = [banks.get((name, dim), 1) for dim in range(rank)]
        tries = sorted(itertools.product(MORE, repeat=rank), key=lambda more: (prod(more), more))
        for more in tries:
            factors = [min(b * m, e) for b, m, e in zip(base, more, array.shape, strict=True)]
            if prod(more) > 16:
                break
            if all(_load(nest, row, name, factors) <= PORTS * row.expected for nest, row in users):
                banks |= {(name, dim): factor for dim, factor in enumerate(factors) if factor > 1}
                break
    return banks


def _windows(nest: Nest, name: str) -> bool:
    """Whether a nest touches the array at several places that differ by constants."""
    mine = {a.subscripts for a in nest.accesses if a.array == name}
    known = [s for s in mine if all(x is not None for x in s)]
    terms = {tuple(frozenset(x.terms.items()) for x in s if x is not None) for s in known}
    return len(known) > len(terms)


def _load(nest: Nest, row: Row, name: str, factors: list[int]) -> int:
    """The most elements of one bank that one iteration of the pipeline touches."""
    whole = {loop.name: loop.extent or 1 for loop in nest.inner} | dict(row.factors)
    met: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    writes: Counter[tuple[int, ...]] = Counter()
    count = 0
    for access in {(a.subscripts, a.writes): a for a in nest.accesses if a.array == name}.values():
        for element in _elements(access, whole):
            count += 1
            if count > MOST:
                return 0
            bank = tuple(e % f for e, f in zip(element, factors, strict=True))
            if access.writes:
                writes[bank] += 1
            else:
                met.setdefault(bank, set()).add(element)
    loads = {bank: len(found) + writes.get(bank, 0) for bank, found in met.items()}
    return max([*loads.values(), *writes.values()], default=0)


def _elements(access: Access, whole: Mapping[str, int]) -> list[tuple[int, ...]]:
    """The elements that an access touches in a tile at the origin."""
    names = sorted({n for s in access.subscripts if s is not None for n in s.terms})
    ranges = [range(whole.get(n, 1)) for n in names]
    found = []
    for point in itertools.islice(itertools.product(*ranges), MOST + 1):
        at = dict(zip(names, point, strict=True))
        found.append(
            tuple(
                0 if s is None else s.constant + sum(c * at[n] for n, c in s.terms.items()) + 64
                for s in access.subscripts
            )
        )
    return found
