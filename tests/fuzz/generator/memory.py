"""Programs from memory: arguments placed, laid out and cached, behind buses and channels that stall.

They are made where :data:`FROM_MEMORY` is asked for alone, from choices of their own, so every other program
stays as it is.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

from allo.schedule import Schedule

from .program import Argument, Program, Step
from .schedules import Sites, draw_cache, draw_step

FROM_MEMORY = "from memory"
"""The feature of these programs, for ``scripts/fuzz --only``."""
TOP = "work"
"""What the top function of these programs is called."""
_STALLS = (0.0, 0.1, 0.5)
_CELLS = (8, 16, 32, 64)
"""Widths of elements that have no bits between them in memory."""
_CHANNELS, _BANKS = 4, 2


def put_in_memory(program: Program, rng: random.Random) -> None:
    """Give a program the options of a memory, if it can have one; ``scripts/fuzz`` takes another if not.

    The checks of subscripts and dependences have no way out of a wrapper, so programs that need them stay
    as they are.
    """
    arrays = [a.name for a in program.arguments if a.shape and _is_used(program, a.name)]
    if not arrays or program.region or program.checked or program.deadlock:
        return
    # Projects of HLS targets, which arrays on several channels need, use the name kernel themselves.
    program.source = re.sub(r"\bkernel\b", TOP, program.source)
    program.top = re.sub(r"\bkernel\b", TOP, program.top)
    kept = ("subnormals", "overlap_loops", "configs")
    program.options = {name: program.options[name] for name in kept if name in program.options}
    program.options |= _surroundings(program, arrays, rng)
    own = random.Random(f"memory behind the masters of {program.seed}")
    if "interface" in program.options and own.random() < 0.4:
        program.options["memory"] = _behind_masters(list(program.options["interface"]), own)
    program.features.append(FROM_MEMORY)


def _is_used(program: Program, name: str) -> bool:
    """Whether an array stands in more than the head of the top function."""
    return len(re.findall(rf"\b{name}\b", program.source)) > 1


def _surroundings(program: Program, arrays: list[str], rng: random.Random) -> dict[str, Any]:
    """AXI4 masters with stalls, models of placed channels, or channels of a bandwidth and a latency."""
    kind, walks = rng.random(), "passing" in program.features
    if kind < (0.85 if walks else 0.6):
        # An array without an entry has the master of its channel, or ports of RAM where it is on chip.
        master = _master(rng, walks=walks)  # one for all: those in one channel share a port
        asked = {name: master for name in arrays if walks or rng.random() < 0.7}
        stalls = {"stalls": rng.choice(_STALLS)}
        return stalls | ({"interface": asked} if asked else {"interface": {arrays[0]: "m_axi"}})
    if kind < (0.92 if walks else 0.8):
        return {"memory": rng.choice(("ideal", "dram"))}
    return {"memory": _channels(arrays, rng)}


def _channels(arrays: list[str], rng: random.Random) -> dict[str, Any]:
    """Two channels with bandwidths, latencies and stalls, and which of them each array has."""
    near = ("near", rng.choice((1, 8, 64)), rng.choice((0, 3, 20)), rng.choice(_STALLS))
    far = ("far", rng.choice((1, 8, 64)), rng.choice((3, 20, 100)), rng.choice(_STALLS))
    return {name: rng.choice((near, far)) for name in arrays}


def _behind_masters(arrays: list[str], rng: random.Random) -> dict[str, Any]:
    """Channels behind AXI4 masters: each array on one with banks, or all on ideal ones that stall."""
    if rng.random() < 0.5:
        return _channels(arrays, rng)
    return {name: ("hbm2", rng.randrange(_CHANNELS)) for name in arrays}


def _master(rng: random.Random, *, walks: bool) -> dict[str, Any]:
    """An AXI4 master with some fields of its own; narrow ones read ahead of walks as far as they may."""
    fields = {
        "width": rng.choice((32, 32, 64) if walks else (32, 64, 128, 512)),
        "burst": rng.choice((1, 4, 64)),
        "outstanding": rng.choice((1, 2, 16)),
    }
    return {"kind": "m_axi"} | {name: fields[name] for name in fields if rng.random() < 0.3}


def draw_memory_steps(s: Schedule, program: Program, rng: random.Random) -> Iterator[Step]:
    """Layouts and places of the arguments, then primitives on loops, and caches among them."""
    top = s.top_func_name
    for argument in program.arguments:
        if argument.shape and _is_used(program, argument.name):
            buffer = {"buffer": [top, argument.name]}
            own = random.Random(f"packed {argument.name} of {program.seed}")
            if argument.bits not in _CELLS and not argument.fields and own.random() < 0.4:
                yield Step("layout", (buffer, "packed"))
            elif len(argument.shape) > 1 and rng.random() < 0.4:
                yield Step("layout", (buffer, _order(argument.shape, rng)))
            if rng.random() < 0.6:
                yield Step("place", (buffer, _place(program, argument.name, rng)))
    if "cached" in program.features:
        yield from _cached_steps(s, program, rng)
        return
    for _ in range(rng.randint(1, 5)):
        step = draw_cache(s, rng) if rng.random() < 0.6 else draw_step(s, program, rng)
        if step is not None:
            yield _deepened(step, program)


def _cached_steps(s: Schedule, program: Program, rng: random.Random) -> Iterator[Step]:
    """What a user would write: windows, caches of several arrays at a loop of tiles, pipelines inside.

    Some steps of any kind stand among them, so a loop may be split before it has a cache, and changed behind.
    """
    for _ in range(rng.choice((0, 0, 1, 2))):
        step = draw_step(s, program, rng)
        if step is not None:
            yield step
    top = s.top_func_name
    for band, loops in [(b, names) for func, b, names in Sites(s).bands if func == top]:
        tiles = [name for name in loops if name.startswith("t")] or loops
        at = rng.choice(tiles)
        arrays = [a for a in program.arguments if a.shape and _is_used(program, a.name)]
        for argument in rng.sample(arrays, len(arrays)):
            yield from _cache(top, argument, [top, band, at], rng)
        if rng.random() < 0.7:
            yield Step("pipeline", ({"loop": [top, band, loops[-1]]},))
    if rng.random() < 0.3 and (step := draw_step(s, program, rng)) is not None:
        yield step


def _cache(top: str, argument: Argument, loop: list[str], rng: random.Random) -> Iterator[Step]:
    """A cache of an array at a loop, perhaps of a window, perhaps by several neighbours at once."""
    buffer, axis = {"buffer": [top, argument.name]}, {"loop": loop}
    if rng.random() < 0.25:
        yield Step("reuse_at", (buffer, axis))
    if rng.random() < 0.3:
        return
    depth = rng.choice((False, True, True, 2, 3, 5))
    kwargs: list[tuple[str, Any]] = [("double_buffer", depth)] if depth else []
    lanes = rng.choice((1, 1, 1, 2, 4))
    cyclic = {"partition": "Cyclic"}
    if lanes > 1:
        last = len(argument.shape or ())
        yield Step("partition", (buffer, cyclic), (("dim", last), ("factor", lanes)))
        kwargs.append(("lanes", lanes))
    yield Step("cache", (buffer, axis), tuple(kwargs))
    if lanes > 1:
        kept = {"buffer": [top, f"{argument.name}_cache"]}
        yield Step("partition", (kept, cyclic), (("dim", rng.choice((1, 2))), ("factor", lanes)))


def _deepened(step: Step, program: Program) -> Step:
    """Some caches that have two buffers with more of them, by a choice that leaves the others as they are."""
    if step.primitive != "cache" or not step.kwargs:
        return step
    depth = random.Random(f"buffers of {program.seed}").choice((True, 3, 4))
    return Step(step.primitive, step.args, (("double_buffer", depth),))


def _order(shape: tuple[int, ...], rng: random.Random) -> str:
    """An order of a layout: its tiles divide the extents, mostly."""
    if rng.random() < 0.5:
        return "transposed"
    sizes = [rng.choice([d for d in range(1, n + 1) if n % d == 0] or [1]) for n in shape]
    if rng.random() < 0.05:
        sizes[0] += 1
    return f"tiled({', '.join(map(str, sizes))})"


def _place(program: Program, name: str, rng: random.Random) -> str:
    """Channels of an array: one or several, where each has a master a power of two of them."""
    # Behind masters, channels are a power of two.
    modelled = "memory" in program.options and "interface" not in program.options
    asked = name in program.options.get("interface", {})
    if not asked and not modelled and rng.random() < 0.2:
        return "on_chip"
    if rng.random() < 0.2:
        return f"ddr[{rng.randrange(_BANKS)}]"
    first = rng.randrange(_CHANNELS)
    if modelled and rng.random() < 0.5:
        return f"hbm[{first}:{first + rng.choice((2, 3, 4))}]"
    several = random.Random(f"masters of {name} in {program.seed}").choice((1, 1, 2, 4))
    return f"hbm[{first}:{first + several}]" if several > 1 else f"hbm[{first}]"
