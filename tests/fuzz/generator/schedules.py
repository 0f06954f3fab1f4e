"""Random schedules: primitives on the loops and buffers that a schedule holds now."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

from allo.dialects.core.partition import Partition
from allo.schedule import Schedule
from allo.schedule.handles import LoopBand, LoopWrapper, MockBuffer
from allo.schedule.resolve import buffers_of, find_function, functions_of

from .program import Program, Step

Loop = dict[str, list[str]]
"""``{"loop": [function, band, name]}``"""


def draw_step(s: Schedule, program: Program, rng: random.Random) -> Step | None:
    """One random step, or None where the schedule holds nothing to apply one to."""
    sites = Sites(s)
    if not sites.loops and not sites.buffers:
        return None
    for _ in range(8):
        aimed = _aimed(sites, program, rng) if rng.random() < 0.4 else None
        made = aimed or rng.choices([m for _, m in _PRIMITIVES], [n for n, _ in _PRIMITIVES])[0](
            sites, rng
        )
        if made is None:
            continue
        if made.primitive in ("reorder", "compute_at") and "float reduction" in program.features:
            continue
        if made.primitive in ("interleave", "rebalance", "accumulate") and _adds_floats(s):
            continue
        return made
    return None


def draw_cache(s: Schedule, rng: random.Random) -> Step | None:
    """A cache of an argument of the top function, or None where it has no loop."""
    sites = Sites(s)
    top = s.top_func_name
    loops = [loop for loop in sites.loops if loop[0] == top]
    if not loops or not s.func_args.get(top):
        return None
    known = {a.name for a in s.func_args[top]}
    names = [name for func, name, _ in sites.buffers if func == top and name in known]
    if not names:
        return None
    kwargs = (("double_buffer", True),) if rng.random() < 0.5 else ()
    buffer = {"buffer": [top, rng.choice(names)]}
    return Step("cache", (buffer, {"loop": list(rng.choice(loops))}), kwargs)


def _adds_floats(s: Schedule) -> bool:
    """Whether sums or products of floats are there, which these primitives group in another way."""
    return any(op in str(s.module) for op in ("arith.addf", "arith.subf", "arith.mulf"))


def apply_step(s: Schedule, step: Step, space: dict[str, Any]) -> None:
    """Apply a step; raises what the primitive raises."""
    args = [_resolved(s, a, space) for a in step.args]
    kwargs = {name: _resolved(s, value, space) for name, value in step.kwargs}
    getattr(s, step.primitive)(*args, **kwargs)


def _resolved(s: Schedule, value: Any, space: dict[str, Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return [_resolved(s, v, space) for v in value]
    if not isinstance(value, dict):
        return value
    if "loop" in value:
        func, band, name = value["loop"]
        return LoopWrapper(func, band, name)
    if "buffer" in value:
        return MockBuffer(*value["buffer"])
    if "partition" in value:
        return Partition[value["partition"]]
    import allo

    inner = allo.customize(space[value["schedule"]])
    for about in value["steps"]:
        apply_step(inner, Step(about[0], tuple(about[1])), space)
    return inner


class Sites:
    """Loops by band and buffers, by function.

    Attributes:
        bands: of each nest its function, its name and its loops.
        buffers: of each array its function, its name and its rank.
    """

    def __init__(self, s: Schedule) -> None:
        self.schedule = s
        self.bands: list[tuple[str, str, list[str]]] = []
        self.buffers: list[tuple[str, str, int]] = []
        self.functions = list(functions_of(s.module))
        with s.context:
            for func in self.functions:
                for name, band in s.get_loops(func):
                    if isinstance(band, LoopBand):
                        self.bands.append((func, name, [n for n, _ in band]))
                self._buffers(func)

    def _buffers(self, func: str) -> None:
        for name, value in buffers_of(find_function(self.schedule.module, func)).items():
            rank = getattr(value.type, "rank", None)
            if rank:
                self.buffers.append((func, name, rank))

    @property
    def loops(self) -> list[tuple[str, str, str]]:
        return [(f, b, n) for f, b, names in self.bands for n in names]

    def loop(self, rng: random.Random) -> Loop | None:
        return {"loop": list(rng.choice(self.loops))} if self.loops else None

    def buffer(self, rng: random.Random) -> tuple[dict[str, list[str]], int] | None:
        if not self.buffers:
            return None
        func, name, rank = rng.choice(self.buffers)
        return {"buffer": [func, name]}, rank


def _aimed(sites: Sites, program: Program, rng: random.Random) -> Step | None:
    """A primitive where the program is made for it, so that many of them apply."""
    options: list[Step] = []
    for func in sites.functions:
        bands = [(b, names) for f, b, names in sites.bands if f == func]
        names = {n for f, n, _ in sites.buffers if f == func}
        for kind, make in _AIMS:
            if kind in program.features:
                options += make(func, bands, names)
    return rng.choice(options) if options else None


Bands = list[tuple[str, list[str]]]


def _aim_at_windows(func: str, bands: Bands, names: set[str]) -> list[Step]:
    made = []
    for band, loops in bands:
        if {"r", "c"} <= set(loops):
            made.append(Step("reorder", tuple({"loop": [func, band, n]} for n in ("c", "r"))))
        if "A" in names:
            for loop in loops:
                if loop[0] in "yx":
                    made.append(
                        Step("reuse_at", ({"buffer": [func, "A"]}, {"loop": [func, band, loop]}))
                    )
    return made


def _aim_at_products(func: str, bands: Bands, names: set[str]) -> list[Step]:
    made = []
    for band, loops in bands:
        if any(loop.startswith("k") for loop in loops):
            for target in sorted(names & {"C", "D"}):
                for loop in loops[:2]:
                    step = Step(
                        "buffer_at", ({"buffer": [func, target]}, {"loop": [func, band, loop]})
                    )
                    made.append(step)
            for target in sorted(names & {"A", "B"}):
                for loop in loops[:2]:
                    made.append(
                        Step("feed", ({"buffer": [func, target]}, {"loop": [func, band, loop]}))
                    )
            order = [{"loop": [func, band, n]} for n in loops]
            made.append(Step("interleave", (order[-1], 2)))
            made.append(Step("unroll", (order[-1], 0)))
            made.append(Step("rebalance", order[-1:]))
            made.append(Step("reorder", (*reversed(order),)))
            made.append(Step("reorder", (*order[-1:], *order[1:-1])))
    return [s for s in made if s.primitive != "reorder" or len(s.args) > 1]


def _aim_at_chains(func: str, bands: Bands, names: set[str]) -> list[Step]:
    made = []
    for (first, outer), (second, inner) in itertools.pairwise(bands):
        for depth in range(min(len(outer), len(inner))):
            loops = {"loop": [func, first, outer[depth]]}, {"loop": [func, second, inner[depth]]}
            made.append(Step("compute_at", loops))
    for name, (band, _) in zip(("B", "C"), bands[1:], strict=False):
        if name in names:
            made.append(Step("to", ({"buffer": [func, name]}, band), (("depth", 4),)))
            made.append(Step("to", ({"buffer": [func, name]}, band)))
    return made


_AIMS = (
    ("windows", _aim_at_windows),
    ("products", _aim_at_products),
    ("chains", _aim_at_chains),
)


def _split(sites: Sites, rng: random.Random) -> Step | None:
    loop = sites.loop(rng)
    return loop and Step("split", (loop, rng.choice((2, 2, 3, 4, 5))))


def _cut(sites: Sites, rng: random.Random) -> Step | None:
    loop = sites.loop(rng)
    return loop and Step("cut", (loop, rng.choice((1, 2, 2, 3))))


def _sink(sites: Sites, rng: random.Random) -> Step | None:
    loop = sites.loop(rng)
    return loop and Step("sink", (loop,))


def _reorder(sites: Sites, rng: random.Random) -> Step | None:
    deep = [band for band in sites.bands if len(band[2]) > 1]
    if not deep:
        return None
    func, band, names = rng.choice(deep)
    chosen = rng.sample(names, rng.randint(2, len(names)))
    return Step("reorder", tuple({"loop": [func, band, n]} for n in chosen))


def _skew(sites: Sites, rng: random.Random) -> Step | None:
    deep = [band for band in sites.bands if len(band[2]) > 1]
    if not deep:
        return None
    func, band, names = rng.choice(deep)
    at = sorted(rng.sample(range(len(names)), 2))
    return Step("skew", (*({"loop": [func, band, names[k]]} for k in at), rng.choice((1, 1, 2))))


def _fuse(sites: Sites, rng: random.Random) -> Step | None:
    deep = [band for band in sites.bands if len(band[2]) > 1]
    if not deep:
        return None
    func, band, names = rng.choice(deep)
    at = rng.randrange(len(names) - 1)
    chosen = names[at : at + rng.choice((2, 2, 3))]
    return Step("fuse", tuple({"loop": [func, band, n]} for n in chosen))


def _unroll(sites: Sites, rng: random.Random) -> Step | None:
    loop = sites.loop(rng)
    return loop and Step("unroll", (loop, rng.choice((0, 0, 2, 2, 3))))


def _pipeline(sites: Sites, rng: random.Random) -> Step | None:
    loop = sites.loop(rng)
    if loop is None:
        return None
    kwargs = (("rewind", True),) if rng.random() < 0.1 else ()
    return Step("pipeline", (loop, rng.choice((1, 1, 1, 2, 3))), kwargs)


def _interleave(sites: Sites, rng: random.Random) -> Step | None:
    loop = sites.loop(rng)
    return loop and Step("interleave", (loop, rng.choice((2, 2, 3, 4))))


def _accumulate(sites: Sites, rng: random.Random) -> Step | None:
    loop = sites.loop(rng)
    return loop and Step("accumulate", (loop,), (("exact", rng.random() < 0.9),))


def _rebalance(sites: Sites, rng: random.Random) -> Step | None:
    loop = sites.loop(rng)
    return loop and Step("rebalance", (loop,))


def _constant_multiply(sites: Sites, rng: random.Random) -> Step | None:
    loop = sites.loop(rng)
    return loop and Step("constant_multiply", (loop,))


def _bind(sites: Sites, rng: random.Random) -> Step | None:
    op = rng.choice(("mul", "mul", "mul", "fadd", "fmul"))
    impl = rng.choice(("packed", "packed", "fabric", "dsp") if op == "mul" else ("fabric", "dsp"))
    loop = sites.loop(rng) if rng.random() < 0.3 else None
    return Step("bind", (op, impl, loop) if loop else (op, impl))


def _parallel(sites: Sites, rng: random.Random) -> Step | None:
    loop = sites.loop(rng)
    return loop and Step("parallel", (loop,))


def _partition(sites: Sites, rng: random.Random) -> Step | None:
    found = sites.buffer(rng)
    if found is None:
        return None
    buffer, rank = found
    kind = rng.choice(("Complete", "Complete", "Block", "Cyclic", "Cyclic"))
    factor = 0 if kind == "Complete" else rng.choice((2, 2, 3, 4))
    return Step("partition", (buffer, {"partition": kind}, rng.randint(0, rank), factor))


def _buffer_at(sites: Sites, rng: random.Random) -> Step | None:
    found, loop = sites.buffer(rng), sites.loop(rng)
    if found is None or loop is None:
        return None
    return Step("buffer_at", (_of_function(sites, loop, found[0], rng), loop))


def _cache(sites: Sites, rng: random.Random) -> Step | None:
    found, loop = sites.buffer(rng), sites.loop(rng)
    if found is None or loop is None:
        return None
    return Step("cache", (_of_function(sites, loop, found[0], rng), loop, rng.random() < 0.5))


def _feed(sites: Sites, rng: random.Random) -> Step | None:
    found, loop = sites.buffer(rng), sites.loop(rng)
    if found is None or loop is None:
        return None
    return Step("feed", (_of_function(sites, loop, found[0], rng), loop))


def _reuse_at(sites: Sites, rng: random.Random) -> Step | None:
    found, loop = sites.buffer(rng), sites.loop(rng)
    if found is None or loop is None:
        return None
    return Step("reuse_at", (_of_function(sites, loop, found[0], rng), loop))


def _of_function(sites: Sites, loop: Loop, other: dict, rng: random.Random) -> dict:
    """A buffer of the loop's function, mostly."""
    func = loop["loop"][0]
    here = [{"buffer": [f, n]} for f, n, _ in sites.buffers if f == func]
    return rng.choice(here) if here else other


def _compute_at(sites: Sites, rng: random.Random) -> Step | None:
    if len(sites.bands) < 2:
        return None
    (f, a, first), (g, b, second) = rng.sample(sites.bands, 2)
    depth = rng.randrange(max(1, min(len(first), len(second))))
    if depth >= len(first) or depth >= len(second):
        return None
    return Step("compute_at", ({"loop": [f, a, first[depth]]}, {"loop": [g, b, second[depth]]}))


def _reshape(sites: Sites, rng: random.Random) -> Step | None:
    found = sites.buffer(rng)
    if found is None:
        return None
    func, name = found[0]["buffer"]
    if name in {a.name for a in sites.schedule.func_args.get(func, ())}:
        return None  # another shape for the caller, in Python too
    with sites.schedule.context:
        value = buffers_of(find_function(sites.schedule.module, func))[name]
        shape = list(value.type.shape)
    count = 1
    for extent in shape:
        count *= extent
    options = [[count], shape[::-1]]
    options += [[d, count // d] for d in range(2, count) if count % d == 0]
    return Step("reshape", (found[0], rng.choice(options)))


def _to(sites: Sites, rng: random.Random) -> Step | None:
    found = sites.buffer(rng)
    if found is None or not sites.bands:
        return None
    names = [b for f, b, _ in sites.bands if f == found[0]["buffer"][0]]
    if not names:
        return None
    kwargs = (("depth", rng.choice((1, 2, 4, 64))),) if rng.random() < 0.7 else ()
    return Step("to", (found[0], rng.choice(names)), kwargs)


def _inline(sites: Sites, rng: random.Random) -> Step | None:
    return Step(rng.choice(("inline", "absorb", "absorb")), (rng.choice(sites.functions),))


def _dataflow(sites: Sites, rng: random.Random) -> Step | None:
    loop = sites.loop(rng)
    return Step("dataflow", (loop if loop and rng.random() < 0.5 else rng.choice(sites.functions),))


def _unfold(sites: Sites, rng: random.Random) -> Step | None:
    if not sites.bands:
        return None
    func, band, names = rng.choice(sites.bands)
    axes = rng.choice(([0], [0], [0, 1], [1])) if len(names) > 1 else [0]
    return Step("unfold", (f"{func}:{band}", axes))


def _compose(sites: Sites, rng: random.Random) -> Step | None:
    """The schedule of a callee, with steps of its own, replayed here."""
    import allo

    top = sites.schedule.top_func_name
    callees = [f for f in sites.functions if f != top]
    origin = getattr(sites.schedule, "_fuzz_space", {})
    callees = [f for f in callees if f in origin]
    if not callees:
        return None
    name = rng.choice(callees)
    inner = allo.customize(origin[name])
    steps = []
    inner_sites = Sites(inner)
    for _ in range(rng.choice((1, 1, 2))):
        make = rng.choice((_pipeline, _split, _unroll, _partition, _reorder, _buffer_at))
        step = make(inner_sites, rng)
        if step is None or step.kwargs:
            continue
        try:
            apply_step(inner, step, origin)
        except Exception:
            continue
        steps.append([step.primitive, list(step.args)])
        inner_sites = Sites(inner)
    return Step("compose", ({"schedule": name, "steps": steps},)) if steps else None


_PRIMITIVES: list[tuple[int, Callable[[Sites, random.Random], Step | None]]] = [
    (6, _split),
    (3, _cut),
    (3, _sink),
    (6, _reorder),
    (4, _fuse),
    (3, _skew),
    (5, _unroll),
    (8, _pipeline),
    (3, _interleave),
    (1, _accumulate),
    (3, _rebalance),
    (2, _constant_multiply),
    (3, _bind),
    (2, _parallel),
    (6, _partition),
    (6, _buffer_at),
    (4, _cache),
    (2, _feed),
    (5, _reuse_at),
    (4, _compute_at),
    (2, _reshape),
    (4, _to),
    (3, _inline),
    (4, _dataflow),
    (1, _unfold),
    (3, _compose),
]
