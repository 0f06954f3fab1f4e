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

from .program import Program, Step
from .schedules import draw_cache, draw_step

FROM_MEMORY = "from memory"
"""The feature of these programs, for ``scripts/fuzz --only``."""
_STALLS = (0.0, 0.1, 0.5)
_CHANNELS, _BANKS = 4, 2


def put_in_memory(program: Program, rng: random.Random) -> None:
    """Give a program the options of a memory, if it can have one; ``scripts/fuzz`` takes another if not.

    The checks of subscripts and dependences have no way out of a wrapper, so programs that need them stay
    as they are.
    """
    arrays = [a.name for a in program.arguments if a.shape and _is_used(program, a.name)]
    if not arrays or program.region or program.checked or program.deadlock:
        return
    kept = ("subnormals", "overlap_loops", "configs")
    program.options = {name: program.options[name] for name in kept if name in program.options}
    program.options |= _surroundings(program, arrays, rng)
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
    near = ("near", rng.choice((1, 8, 64)), rng.choice((0, 3, 20)), rng.choice(_STALLS))
    far = ("far", rng.choice((1, 8, 64)), rng.choice((3, 20, 100)), rng.choice(_STALLS))
    return {"memory": {name: rng.choice((near, far)) for name in arrays}}


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
            if len(argument.shape) > 1 and rng.random() < 0.4:
                yield Step("layout", (buffer, _order(argument.shape, rng)))
            if rng.random() < 0.6:
                yield Step("place", (buffer, _place(program, argument.name, rng)))
    for _ in range(rng.randint(1, 5)):
        step = draw_cache(s, rng) if rng.random() < 0.6 else draw_step(s, program, rng)
        if step is not None:
            yield _deepened(step, program)


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
    modelled = "memory" in program.options
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
