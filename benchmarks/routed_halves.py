"""The delays of UltraScale+ fitted to half of what Vivado's router measured, and both halves' errors.

    scripts/python benchmarks/routed_halves.py [--json FILE]

The structures are those of ``tests/devices/test_routed_delays.py``, and AMD's adders beside our flattest
drawing. The SHA-256 of a name tells its half. Two fits are made of the fitted half: of the structures alone,
and of structures and cores. Both change a table with its wires, a carry chain, a bit of it and of a
comparison, and a doubling of the readers. What the held-out half says of a fit is what it is worth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from statistics import fmean, median

import numpy as np

from allo.backend import devices
from allo.backend.devices import SignalDelays, family
from allo.backend.rtl.float.formats import FORMATS
from allo.backend.rtl.float.paths import add_by_paths
from allo.backend.rtl.netlist.modules import Netlist as Modules
from allo.backend.rtl.netlist.passes import run_passes
from allo.backend.rtl.operators.modules import pipelined_module
from allo.backend.rtl.operators.pipeline import pipeline
from allo.backend.rtl.operators.request import drawn
from allo.backend.rtl.resources.build import Graph
from allo.backend.rtl.resources.cover import Cover
from allo.backend.rtl.resources.drawn import DrawnModule, drawn_modules
from allo.backend.rtl.resources.timing import Timer
from benchmarks.harness import Row, command_line, finish
from tests.devices import test_routed_delays as routed
from tests.netlist.reader import read_netlist

DEVICE = devices.DEFAULT_DEVICE
FITTED = ("wire", "carry", "carry_bit", "compare_bit", "spread")
"""The fields that are fitted; ``wire`` with ``table`` is a level of logic, and ``table`` stays."""
STEPS, SMALL, DAMPED = 3, 0.05, 0.05
"""Steps of a fit, by what part a field is changed for its slope, and how much a step is held back."""


def half_of(name: str) -> str:
    """The half of a structure or core."""
    return "held out" if sha256(name.encode()).digest()[0] % 2 else "fitted"


@dataclass(frozen=True, slots=True)
class Timed:
    """A structure whose logic is cut into tables, to be timed by any delays.

    Attributes:
        name: of the structure; ``ns``: what was routed, from register to register.
        core: whether it is a core of AMD.
    """

    name: str
    ns: float
    core: bool
    module: DrawnModule
    graph: Graph
    cover: Cover

    @staticmethod
    def of(name: str, ns: float, netlist: Modules, *, core: bool = False) -> Timed:
        """A netlist of one module as the estimate has it in front of its timing."""
        (module,) = drawn_modules(netlist)
        cells = family(DEVICE).cells
        graph = Graph(module, {}, cells)
        cover = Cover(graph, cells)
        cover.run()
        return Timed(name, ns, core, module, graph, cover)

    def error(self, delays: SignalDelays) -> float:
        """How far the estimate is from what was routed."""
        tables = sum(cost.get("lut", 0) for cost in self.cover.costs.values())
        longer, cells = delays.in_design(tables, 0), family(DEVICE).cells
        timing = Timer(self.module, self.graph, self.cover, cells, longer, {}).run()
        # operands come from registers in front of the unit
        before = [delays.clock_out + end.delay_ns for end in timing.ends.values() if self.core]
        return max(timing.worst.delay_ns, *before, 0.0) / self.ns - 1.0


def structures() -> Iterator[Timed]:
    """What was routed between registers, without products: their registers are outside of the block."""
    floor = routed.ULTRASCALE.floor
    for row, times in routed.ULTRASCALE.rows.items():
        if row == "mul":
            continue
        for width, ns in zip(routed.WIDTHS, times, strict=True):
            yield Timed.of(f"{row} {width}", floor + ns, read_netlist(routed.text_of(row, width)))
    for sources, ns in zip(routed.SOURCES, routed.ULTRASCALE.choices, strict=True):
        text = routed.text_of_choice(sources)
        yield Timed.of(f"choice {sources}", floor + ns, read_netlist(text))


def cores() -> Iterator[Timed]:
    """AMD's adders, and our drawing in as many cycles, with the stages that the recorded delays give it."""
    for name, cycles, mhz in (*routed.CORES, ("f64", 6, 519)):
        kind = replace(FORMATS[name], flush=True)
        net = drawn(lambda a, b, kind=kind: add_by_paths(a, b, kind), (kind.width, kind.width))
        operators = replace(family(DEVICE).operators, source_ns=0.0, margin=1.0)
        plan = pipeline(net, operators, float(mhz), cycles, tables=True)
        unit = run_passes(Modules([pipelined_module(net, "unit", plan)]), DEVICE)
        yield Timed.of(f"add {name} in {cycles}", 1000.0 / mhz, unit, core=True)


def fit(delays: SignalDelays, timed: list[Timed]) -> SignalDelays:
    """Delays with a smaller mean of squared errors: Gauss and Newton's steps, in logarithms of the fields."""
    best, errors = delays, np.array([one.error(delays) for one in timed])
    for _ in range(STEPS):
        slopes = []
        for field in FITTED:
            more = replace(best, **{field: getattr(best, field) * (1 + SMALL)})
            moved = np.array([one.error(more) for one in timed])
            slopes.append((moved - errors) / np.log1p(SMALL))
        matrix = np.vstack([np.array(slopes).T, DAMPED * np.eye(len(FITTED))])
        wanted = np.concatenate([-errors, np.zeros(len(FITTED))])
        step, *_ = np.linalg.lstsq(matrix, wanted, rcond=None)
        factors = np.exp(np.clip(step, -0.5, 0.5))
        changed = {f: float(getattr(best, f) * k) for f, k in zip(FITTED, factors, strict=True)}
        tried = replace(best, **changed)
        found = np.array([one.error(tried) for one in timed])
        if fmean(found**2) >= fmean(errors**2):
            break
        best, errors = tried, found
    return best


def main() -> int:
    """Fit, print, and write JSON."""
    target = command_line(__doc__).parse_args().json
    now = family(DEVICE).signals
    timed = [*structures(), *cores()]
    fitted = [one for one in timed if half_of(one.name) == "fitted"]
    fits = {
        "recorded": now,
        "structures": fit(now, [one for one in fitted if not one.core]),
        "both": fit(now, fitted),
    }
    rows = []
    for name, delays in fits.items():
        print(name, {field: round(getattr(delays, field), 4) for field in FITTED}, flush=True)
        for kind in ("structures", "cores"):
            for half in ("fitted", "held out"):
                these = [
                    o for o in timed if half_of(o.name) == half and o.core == (kind == "cores")
                ]
                rows.append(_row(name, kind, half, [one.error(delays) for one in these]))
    return finish("routed_halves", "Delays fitted to half of what was routed", rows, target)


def _row(name: str, kind: str, half: str, errors: list[float]) -> Row:
    key = f"routed.{name}.{kind}.{half.replace(' ', '_')}"
    middle = round(100 * median(abs(error) for error in errors), 1)
    worst = round(100 * max(errors, key=abs), 1)
    figures = {f"{key}.median.percent_off": middle, f"{key}.worst.percent_off": abs(worst)}
    note = f"worst {worst:+} %, mean {100 * fmean(errors):+.1f} %, {len(errors)} of them"
    return Row(f"{kind}, {half}: {name}", middle, "%", "exact", 0.1, None, note, figures)


if __name__ == "__main__":
    raise SystemExit(main())
