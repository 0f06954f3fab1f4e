"""Tables of pages, and single values, that are computed from several figures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import floor, inf

from allo.designs.polybench import memory
from allo.designs.polybench.memory.rest.suite import NAMES as OTHERS
from benchmarks import exact_schedules, rtl_memory
from benchmarks.polybench_bounds import asked_mhz, bound
from benchmarks.polybench_shares import PEER_MHZ, STREAM_HLS, Taken, gain, mean, microseconds
from benchmarks.recurrences import CLOCKS
from benchmarks.recurrent_kernels import RECURRENCES
from benchmarks.rtl_polybench import BUDGETS, PUBLISHED, SIZE
from tests.designs.by_hand import NAMES, load

from .cores import float_units
from .halves import asked_suites, estimated_designs, estimated_halves, least_intervals
from .searched import (
    budgets,
    count,
    found_in_time,
    longest_search,
    ratio_to_hand,
    rows_within,
    searched,
    worst_to_hand,
)
from .searched import gain as searched_gain
from .store import Figures

_LETTER = {"Stream-HLS": "S", "HeteroCL": "H", "Allo": "A", "Allo, csynth": "c"}


def _budget(figures: Figures, kernel: str, dsps: int, what: str) -> int:
    """A whole figure of a kernel of PolyBench on a budget of DSPs."""
    return int(figures.find(f"polybench.{kernel}.dsp_{dsps}.{what}"))


def _busy(figures: Figures, kernel: str, dsps: int) -> float:
    """The share of its cycles in which a float unit does useful work."""
    made = load(kernel)
    units, cycles = (_budget(figures, kernel, dsps, what) for what in ("units", "cycles"))
    return made.operations(made.SIZES[SIZE]) / (units * cycles)


def _bold(value: int, published: int) -> str:
    return f"**{value:,}**" if value < published else f"{value:,}"


def _table(head: list[str], align: str, rows: list[list[str]]) -> str:
    lines = [head, ["---", *[align] * (len(head) - 1)], *rows]
    text = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([text[0], text[1].replace(" ", ""), *text[2:]])


_COLUMNS = [f"≤ {dsps:,} DSP" for dsps in BUDGETS]


def polybench_cycles(figures: Figures) -> str:
    """Cycles and utilisation on each budget, beside the published cycles."""
    rows = []
    for kernel in NAMES:
        row = [kernel]
        for dsps, (published, who) in zip(BUDGETS, PUBLISHED[kernel], strict=True):
            cycles = _budget(figures, kernel, dsps, "cycles")
            row.append(f"{_bold(cycles, published)} ({_busy(figures, kernel, dsps):.2f})")
            row.append(f"{published:,} {_LETTER[who]}")
        rows.append(row)
    head = ["kernel", *(text for column in _COLUMNS for text in (column, "published"))]
    return _table(head, "---:", rows)


def polybench_sizes(figures: Figures) -> str:
    """DSPs, float units and thousands of lookup tables."""
    rows = []
    for kernel in NAMES:
        row = [kernel]
        for dsps in BUDGETS:
            dsp, units, lut = (
                _budget(figures, kernel, dsps, what) for what in ("dsp", "units", "lut")
            )
            row.append(f"{dsp:,} · {units:,} · {round(lut / 1000):,}")
        rows.append(row)
    return _table(["kernel", *_COLUMNS], "---:", rows)


def polybench_allowed(figures: Figures) -> str:
    """The utilisation beside what the size allows, cut off after two digits."""
    rows = []
    for kernel in NAMES:
        made, row = load(kernel), [kernel]
        size = made.SIZES[SIZE]
        for dsps in BUDGETS:
            units = _budget(figures, kernel, dsps, "units")
            operations, clock_mhz = made.operations(size), asked_mhz(kernel, dsps)
            limit = bound(kernel, size, units, operations, clock_mhz)
            busy = floor(100 * _busy(figures, kernel, dsps)) / 100
            most = floor(100 * limit.utilisation) / 100
            row.append(f"{busy:.2f} of {most:.2f} {limit.reason}".rstrip())
        rows.append(row)
    return _table(["kernel", *_COLUMNS], "---", rows)


def polybench_pairs(figures: Figures) -> str:
    """Cycles at equal pairs, for the two budgets whose pairs fit the device."""
    rows = []
    for kernel in NAMES:
        row = [kernel]
        for pairs, (published, _) in zip(BUDGETS.values(), PUBLISHED[kernel][:2], strict=False):
            cycles = int(figures.find(f"polybench.{kernel}.pairs_{pairs}.cycles"))
            row.append(_bold(cycles, published))
        rows.append(row)
    return _table(
        ["kernel", *(f"{pairs:,} pairs" for pairs in list(BUDGETS.values())[:2])], "---:", rows
    )


def polybench_fewer(figures: Figures, dsps: int, *, pairs: bool = False) -> str:
    """On how many kernels ours takes fewer cycles than published."""
    column = list(BUDGETS).index(dsps)
    named = f"pairs_{BUDGETS[dsps]}" if pairs else f"dsp_{dsps}"
    return str(
        sum(
            figures.find(f"polybench.{kernel}.{named}.cycles") < PUBLISHED[kernel][column][0]
            for kernel in NAMES
        )
    )


def _taken(figures: Figures, kernel: str, dsps: int, most_mhz: float = inf) -> Taken:
    """The time of ours, at a clock of ``most_mhz`` at most, and what it takes of the device."""
    cycles, lut, dsp = (_budget(figures, kernel, dsps, what) for what in ("cycles", "lut", "dsp"))
    mhz = figures.find(f"polybench.{kernel}.dsp_{dsps}.mhz")
    return Taken(microseconds(cycles, mhz, min(most_mhz, asked_mhz(kernel, dsps))), lut, dsp)


def polybench_shares(figures: Figures) -> str:
    """Time, lookup tables and share of a U280 beside Stream-HLS's, and the speed for a share."""
    rows = []
    for kernel, peers in STREAM_HLS.items():
        for dsps, theirs in zip(BUDGETS, peers, strict=True):
            ours = _taken(figures, kernel, dsps)
            mhz = figures.find(f"polybench.{kernel}.dsp_{dsps}.mhz")
            row = [kernel, f"{dsps:,}", f"{mhz:.0f}", f"{ours.us:.1f} ({theirs.us:.1f})"]
            row.append(f"{ours.lut / 1000:.0f} ({theirs.lut / 1000:.0f})")
            row.append(f"{100 * ours.share:.1f} ({100 * theirs.share:.1f})")
            rows.append([*row, f"{gain(ours, theirs):.2f}"])
    words = ["µs", "thousand LUT", "% of a U280", "gain"]
    return _table(["kernel", "DSP, at most", "estimated MHz", *words], "---:", rows)


def polybench_gain(figures: Figures, dsps: int, most_mhz: float = inf) -> str:
    """The speed for a share of a U280, Stream-HLS's being 1: the geometric mean of its kernels."""
    which = list(BUDGETS).index(dsps)
    found = (
        gain(_taken(figures, kernel, dsps, most_mhz), peers[which])
        for kernel, peers in STREAM_HLS.items()
    )
    return f"{mean(found):.2f}"


def polybench_clocks(figures: Figures) -> str:
    """The lowest and the highest estimated clock of a row."""
    found = [figures.find(f"polybench.{k}.dsp_{dsps}.mhz") for k in NAMES for dsps in BUDGETS]
    return f"{min(found):.0f} to {max(found):.0f}"


def recurrences(figures: Figures) -> str:
    """The loops of ``scripts/bench recurrences``: intervals, and the clock that nextpnr reached."""
    fast, routed = CLOCKS
    head = ["loop", "wanted", *(f"II at {mhz} MHz, {name}" for name, mhz in CLOCKS.items())]
    rows = []
    for case in RECURRENCES:
        name = case.kernel.__name__
        found = [figures.find(f"recurrences.{name}.{device}.ii") for device in (fast, routed)]
        key = f"recurrences.{name}.{routed}"
        estimated = f"{figures.find(f'{key}.mhz'):.0f}"
        reached = "–"
        if figures.has(f"{key}.memories.mhz"):
            reached = f"{figures.find(f'{key}.memories.mhz'):.0f}"
        rows.append([f"`{name}`", f"{case.ii[CLOCKS[fast]]}", *map(str, found), estimated, reached])
    return _table([*head, "estimated, MHz", "routed with memories, MHz"], "---:", rows)


def exact(figures: Figures) -> str:
    """How many loops of each suite have the best schedule at first, and how far the others are from it."""
    head = ["suite", "loops", "searched"]
    for what in ("II", "cycles an iteration", "area"):
        head += [f"{what}: the best at first", "proved", "first over best"]
    rows = []
    for suite in exact_schedules.SUITES:
        key = f"exact.{exact_schedules.key_of(suite)}"
        row = [suite, *(f"{figures.find(f'{key}.{n}.kernels')}" for n in ("all", "searched"))]
        for what in ("ii", "depth", "area"):
            best, proved, off = (
                figures.find(f"{key}.{what}.{last}")
                for last in ("best.kernels", "proved.kernels", "percent_off")
            )
            row += [f"{best}", f"{proved}", f"+{off} %" if off else "equal"]
        rows.append(row)
    return _table(head, "---:", rows)


def polybench_memory(figures: Figures) -> str:
    """Times from memory to memory beside the published ones, and the cycles behind them."""
    rows = []
    for name in memory.NAMES:
        for which in rtl_memory.CHANNELS:
            if f"memory.{name}.{which}.cycles" not in figures.numbers:
                continue
            core, cycles, mhz, dsp, lut = (
                figures.find(f"memory.{name}.{which}.{what}")
                for what in ("core.cycles", "cycles", "mhz", "dsp", "lut")
            )
            places = rtl_memory.channels_of(memory.load(name), which)
            listed = ", ".join(f"{a} {c[0]}–{c[-1]}" if len(c) > 1 else f"{a} {c[0]}"
                               for a, c in places.items())  # fmt: skip
            time, peer = cycles / mhz, rtl_memory.PUBLISHED[name]
            least = rtl_memory.bound(name, which, rtl_memory.ACHIEVABLE)
            row = [listed, f"{core:,}", f"{cycles:,}", f"{cycles / core:.2f}", f"{mhz:.0f}"]
            shown = f"**{time:.1f}**" if time < peer else f"{time:.1f}"
            row += [shown, f"{100 * least / time:.0f} %", f"{peer}", f"{peer / time:.2f}"]
            rows.append([name, *row, f"{dsp:,}", f"{lut / 1000:,.0f}"])
    head = ["kernel", "channels of hbm", "core, cycles", "all, cycles", "all : core", "MHz", "µs"]
    tail = ["of the bandwidth", "Prometheus, µs", "ratio", "DSP", "LUT, thousands"]
    return _table([*head, *tail], "---:", rows)


def polybench_suite(figures: Figures) -> str:
    """Cycles from memory to memory of the kernels without a design of their own for it."""
    rows = []
    for name in OTHERS:
        if f"memory.suite.{name}.small.cycles" not in figures.numbers:
            continue
        core, cycles, moved, needed, busy, larger, whole, mhz, lut = (
            figures.find(f"memory.suite.{name}.{what}")
            for what in (
                *("small.core.cycles", "small.cycles", "small.moved.bytes", "small.needed.bytes"),
                *("small.busy.share", "medium.cycles", "medium.moved.bytes", "medium.mhz", "lut"),
            )
        )
        row = [f"{core:,}", f"{cycles:,}", f"{cycles / core:.3f}", f"{moved:,}", f"{needed:,}"]
        row += [f"{busy:.1f} %", "memory" if busy >= 75 else "compute"]
        rate = whole / (larger / mhz) / 1e3
        row += [f"{larger:,}", f"{mhz:.0f}", f"{larger / mhz:,.0f}", f"{rate:.2f}"]
        rows.append([name, *row, f"{lut / 1000:,.1f}"])
    head = ["kernel", "core, cycles", "all, cycles", "all : core", "bytes moved", "needed"]
    head += ["busiest channel", "bound by", "MEDIUM, cycles", "MHz", "µs", "GB/s", "LUT, thousands"]
    return _table(head, "---:", rows)


def memory_gain(figures: Figures, which: str) -> str:
    """How many times as fast as Prometheus its eleven kernels are: the geometric mean."""
    found = []
    for name in memory.NAMES:
        cycles, mhz = (figures.find(f"memory.{name}.{which}.{w}") for w in ("cycles", "mhz"))
        found.append(rtl_memory.PUBLISHED[name] * mhz / cycles)
    return f"{mean(found):.2f}"


def memory_share(figures: Figures, name: str, which: str) -> str:
    """What a kernel from memory to memory gets of the bytes a second that its busiest channel achieves."""
    cycles, mhz = (figures.find(f"memory.{name}.{which}.{w}") for w in ("cycles", "mhz"))
    return f"{100 * rtl_memory.bound(name, which, rtl_memory.ACHIEVABLE) * mhz / cycles:.1f} %"


TABLES: dict[str, Callable[[Figures], str]] = {
    "polybench cycles": polybench_cycles,
    "polybench sizes": polybench_sizes,
    "polybench allowed": polybench_allowed,
    "polybench pairs": polybench_pairs,
    "polybench shares": polybench_shares,
    **{f"polybench.gain.dsp_{dsps}": partial(polybench_gain, dsps=dsps) for dsps in BUDGETS},
    **{
        f"polybench.gain_of_cycles.dsp_{dsps}": partial(
            polybench_gain, dsps=dsps, most_mhz=PEER_MHZ
        )
        for dsps in BUDGETS
    },
    "polybench.clocks": polybench_clocks,
    "polybench memory": polybench_memory,
    "polybench suite": polybench_suite,
    **{
        f"polybench.memory.{which}": partial(memory_gain, which=which)
        for which in rtl_memory.CHANNELS
    },
    **{
        f"polybench.memory.{name}.{which}.share": partial(memory_share, name=name, which=which)
        for name in memory.NAMES
        for which in rtl_memory.CHANNELS
    },
    **{
        name: partial(make, suite=suite)
        for suite in ("gallery", "polybench", "machsuite")
        for name, make in (
            (f"autoschedule {suite}", searched),
            (f"autoschedule.gain.{suite}", searched_gain),
            (f"autoschedule.count.{suite}", count),
        )
    },
    "autoschedule budgets": budgets,
    "autoschedule memory": found_in_time,
    "autoschedule.budgets.ratio": ratio_to_hand,
    "autoschedule.budgets.worst": worst_to_hand,
    "autoschedule.budgets.within": rows_within,
    "autoschedule.budgets.longest": longest_search,
    "recurrences": recurrences,
    "exact": exact,
    "estimated halves": estimated_halves,
    "estimated designs": estimated_designs,
    "asked suites": asked_suites,
    "least intervals": least_intervals,
    "float units": float_units,
    **{f"polybench.fewer.dsp_{dsps}": partial(polybench_fewer, dsps=dsps) for dsps in BUDGETS},
    **{
        f"polybench.fewer.pairs_{pairs}": partial(polybench_fewer, dsps=dsps, pairs=True)
        for dsps, pairs in BUDGETS.items()
    },
}
"""What a mark names that is not a figure: ``<!-- table: polybench cycles -->`` for a table, and
``<!-- figure: polybench.fewer.dsp_220 -->`` for a value."""
