"""Results of searches in the cache: the primitives and the account, by the kernel and what was asked for."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

from allo.dialects.caches.files import content_key, publish
from allo.dialects.caches.place import base_folder
from allo.dialects.core.partition import Partition
from allo.schedule import Schedule
from allo.schedule.handles import LoopWrapper

from .apply import Step
from .budget import Asked
from .trace import Trace, Tried

FOLDER = "autoschedule"


def key_of(schedule: Schedule, asked: Asked, part: str | None = None) -> str:
    """The name of a search: the module, what is asked for, and the code that searches."""
    own = Path(__file__).parent
    ours = content_key(*sorted(own.rglob("*.py")))
    with schedule.context:
        text = schedule.module.operation.get_asm(enable_debug_info=False)
    what = (
        asked.device, asked.clock_mhz, asked.limits, asked.objective, asked.seconds, asked.reassociate,
        asked.max_cycles, sorted(asked.options.items()), asked.most_factor,
        sorted((asked.dsp_factors or {}).items()),
    )  # fmt: skip
    applied = [name for name, _, _ in schedule.primitive_sequences]
    return content_key(
        text, repr(what), repr(applied), repr(part), ours, metadata.version("ortools")
    )


def read(key: str) -> tuple[list[Step], Trace] | None:
    """What a search of this name found, or None."""
    base = base_folder()
    if base is None:
        return None
    try:
        data = json.loads((base / FOLDER / key).read_text())
        trace = data["trace"]
        tried = [Tried(**design) for design in trace.pop("tried")]
        return [_step(item) for item in data["steps"]], Trace(**trace, tried=tried)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write(key: str, steps: list[Step], trace: Trace) -> None:
    """Keep what a search found; where the cache cannot be written it is not kept."""
    base = base_folder()
    if base is None:
        return
    data = {"steps": [_plain(step) for step in steps], "trace": asdict(trace)}
    try:
        publish(base / FOLDER / key, json.dumps(data))
    except OSError:
        return


def _plain(step: Step) -> dict[str, Any]:
    return {
        "primitive": step.primitive,
        "arguments": [_argument(value) for value in step.arguments],
        "options": [list(option) for option in step.options],
        "nest": step.nest,
        "optional": step.optional,
    }


def _argument(value: Any) -> Any:
    if isinstance(value, LoopWrapper):
        return {"loop": [value.func, value.band, value.loop_name]}
    if isinstance(value, Partition):
        return {"partition": value.name}
    return value


def _step(data: dict[str, Any]) -> Step:
    arguments = []
    for value in data["arguments"]:
        if isinstance(value, dict) and "loop" in value:
            value = LoopWrapper(*value["loop"])
        elif isinstance(value, dict):
            value = Partition[value["partition"]]
        arguments.append(value)
    options = tuple((name, value) for name, value in data["options"])
    return Step(data["primitive"], tuple(arguments), options, data["nest"], data["optional"])
