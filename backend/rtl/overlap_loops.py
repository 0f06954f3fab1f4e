"""Loops around two pipelines or more run them at once, without a mark, where that costs no unit.

The design is compiled as it is, and again with its candidates as if ``s.dataflow`` marked them. A loop
keeps its tasks where it then takes clearly fewer cycles, these are known, no arithmetic unit is there
twice, and the second copies of its arrays are small. Of another one that would be faster the report says
what the mark gives and takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from allo.dialects._mlir import ir
from allo.dialects.diagnostics import AlloError
from allo.dialects.streams.loops.attempts import (
    OVERLAP,
    LoopToTry,
    NothingTried,
    with_attempts,
)

from .compiled import CompiledModule
from .graph.nodes import Array
from .graph.prune import regions_of
from .graph.regions import Loop
from .netlist.instance_counts import instance_counts
from .plan.bind import Interface
from .plan.cycles import region_cycles
from .plan.explain import short
from .read.records import Program

GAIN = 1.25
"""How many times fewer cycles a loop must take with its pipelines at once."""
MOST_COPIED = 1 << 14
"""Bits that memories may grow by for that: a block RAM of ECP5."""


class Compiling(Protocol):
    """What compiles the functions of a program."""

    program: Program
    modules: dict[str, CompiledModule]


@dataclass(frozen=True, slots=True)
class Chosen[C]:
    """A compiled design.

    Attributes:
        notes: of the report, on loops whose pipelines run at once, or could.
    """

    compiler: C
    top: Interface
    notes: list[str]


def choose_loops[C: Compiling](
    module: ir.Module,
    tried: Sequence[LoopToTry],
    attempt: Callable[[ir.Module, bool], tuple[C, Interface]],
) -> Chosen[C]:
    """Compile a module with the pipelines of some loops at once.

    Args:
        tried: its loops that may be such.
        attempt: compiles a module, which it changes; the flag says that its warnings were given.
    """
    plain = _Design(*attempt(with_attempts(module, ()), False))
    try:
        trial = _Design(*attempt(with_attempts(module, tried), True))
    except (AlloError, NothingTried):
        return Chosen(plain.compiler, plain.top, [])
    made = trial.regions(tried)
    each = (_found(loop, region, plain, trial) for loop, region in made.items())
    worth = [f for f in each if f is not None]
    kept = _that_fit([f for f in worth if not f.in_registers])
    design = plain
    while kept:
        whole = len(kept) == len(made) == len(tried)
        marked = with_attempts(module, [f.loop for f in kept])
        try:
            design = trial if whole else _Design(*attempt(marked, True))
        except NothingTried:  # these loops overlap beside the others alone
            kept = []
            break
        more = design.units() - plain.units()
        if not more and _is_better(design, plain):
            break
        free = [f for f in kept if not more.keys() & f.units.keys()]
        kept = free if len(free) < len(kept) else []
        design = plain
    notes = [f.told(kept=f in kept) for f in worth]
    return Chosen(design.compiler, design.top, notes)


@dataclass(frozen=True, slots=True)
class _Found:
    """A loop that would be clearly faster with its pipelines at once.

    Attributes:
        before, after: cycles of a run of it.
        units: of its tasks alone, by the operator's name.
        copies: bits of second copies of arrays, by the array's name.
        in_registers: whether it uses arrays of registers, which its tasks could not share.
    """

    loop: LoopToTry
    before: int
    after: int
    units: Counter[str]
    copies: dict[str, int]
    in_registers: bool

    @property
    def bits_copied(self) -> int:
        return sum(self.copies.values())

    def told(self, *, kept: bool) -> str:
        """A note of the report."""
        loop = self.loop
        place = f" ({short(loop.place)})" if loop.place else ""
        each = (round(cycles / loop.trips) for cycles in (self.after, self.before))
        cycles = "{:,} cycles an iteration for {:,}".format(*each)
        if kept:
            return (
                f"Loop {loop.name}{place} runs its {loop.pipelines} pipelines at once, in {cycles}; "
                "overlap_loops=False prevents it."
            )
        needs = [f"{n} {name}" for name, n in sorted(self.units.items())]
        costs = [f"units of its own ({', '.join(needs)})"] if needs else []
        if self.copies:
            kbit = self.bits_copied / 1024
            costs.append(f"second copies of {', '.join(self.copies)} ({kbit:.3g} kbit)")
        if self.in_registers:
            costs.append("memories in place of registers")
        what = f"; it takes {' and '.join(costs)}" if costs else ""
        return (
            f"Loop {loop.name}{place} could run its {loop.pipelines} pipelines at once, in {cycles}: mark it "
            f"with s.dataflow(loop){what}."
        )


class _Design[C: Compiling]:
    """A compiled design, and what its loops and units are."""

    def __init__(self, compiler: C, top: Interface) -> None:
        self.compiler = compiler
        self.top = top
        self._counts = instance_counts(compiler.modules, top.module)
        self._used = {n: m for n, m in compiler.modules.items() if self._counts[n]}

    def _compiled(self, function: str) -> CompiledModule | None:
        """The module of a function, or of one that differs from it in names alone."""
        same = self.compiler.program.same
        for module in self._used.values():
            if same[module.function.name] == same[function]:
                return module
        return None

    def regions(self, tried: Sequence[LoopToTry]) -> dict[LoopToTry, CompiledModule]:
        """The regions that loops became."""
        found = {}
        for name, record in self.compiler.program.functions.items():
            if OVERLAP not in record.attrs:
                continue
            place = next(op.place for op in record.ops if op.name == "affine.for")
            owners = [
                loop
                for loop in tried
                if loop.number == record.attrs[OVERLAP]
                and loop.place == place
                and name.startswith(f"{loop.function}_")
            ]
            module = self._compiled(name)
            if owners and module is not None:
                found[max(owners, key=lambda loop: len(loop.function))] = module
        return found

    def cycles_of(self, loop: LoopToTry) -> int | None:
        """Cycles of a run of a loop that is no region; None where data tell, or where it is not found."""
        module = self._compiled(loop.function)
        if module is None:
            return None
        found = {
            region_cycles(region, self._callee_cycles)
            for region in regions_of(module.function.root)
            if isinstance(region, Loop)
            and region.level.place == loop.place
            and region.level.name == loop.name
        }
        return found.pop() if len(found) == 1 else None

    def _callee_cycles(self, function: str) -> int | None:
        module = self._compiled(function)
        return None if module is None else module.interface.cycles

    def units(self, of: str = "") -> Counter[str]:
        """How many units of each operator there are, in the design or in one module of it."""
        modules = self.compiler.modules
        counts = instance_counts(modules, of) if of else self._counts
        found: Counter[str] = Counter()
        for name, module in modules.items():
            for operator, number in module.binding.units.values():
                if counts[name] and (module.owns_units or not operator.shareable):
                    found[operator.name] += number * counts[name]
        return found

    def memory(self) -> int:
        """Bits of all memories inside of the design."""
        total = 0
        for name, module in self._used.items():
            inner = [a for a in module.function.arrays if a.storage in ("ram", "rom")]
            total += self._counts[name] * sum(_bits(a) for a in inner if a.loaded or a.stored)
        return total


def _found(
    loop: LoopToTry, region: CompiledModule, plain: _Design[Any], trial: _Design[Any]
) -> _Found | None:
    """What running the pipelines of a loop at once gives; None where that is little, or not known."""
    before, after = plain.cycles_of(loop), region.interface.cycles
    if before is None or after is None or before < GAIN * (after + 1):
        return None
    arrays = region.function.arrays
    copies = {
        a.name: _bits(a) - a.banks * a.layout.bank_depth * a.width for a in arrays if a.copied
    }
    units = trial.units(region.function.module)
    return _Found(
        loop,
        before,
        after,
        units,
        copies,
        any(a.layout.bank_depth <= 1 < a.layout.bank_count for a in arrays),
    )


def _that_fit(found: list[_Found]) -> list[_Found]:
    """As many loops as memories may grow by the copies of together, those of the fewest bits first."""
    kept, total = [], 0
    for each in sorted(found, key=lambda f: f.bits_copied):
        total += each.bits_copied
        if total <= MOST_COPIED:
            kept.append(each)
    return kept


def _is_better(design: _Design[Any], plain: _Design[Any]) -> bool:
    """Whether a design takes fewer cycles than the plain one, as far as is known, and little more memory."""
    before, after = plain.top.cycles, design.top.cycles
    faster = before is None or (after is not None and after < before)
    return faster and design.memory() - plain.memory() <= MOST_COPIED


def _bits(array: Array) -> int:
    return array.banks * array.depth * array.width


__all__ = ["Chosen", "choose_loops"]
