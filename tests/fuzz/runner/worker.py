"""A process that runs programs: jobs as JSON lines on its input, phases and verdicts on its output.

It may crash or hang: :mod:`.pool` sees which program it was at. Run as
``python -m tests.fuzz.runner.worker``; a line ``{"seed": 7, …}`` or ``{"program": {…}, …}`` is a job.
The compiler is imported after a fault of ``$ALLO_FUZZ_FAULT`` has been planted in it.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.replay.watcher import Watcher

type Tell = Callable[[str, str], None]


def main() -> None:
    """Serve until the input ends."""
    channel = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def tell(kind: str, text: str) -> None:
        os.write(channel, f"{kind} {text}\n".encode())

    if fault := os.environ.get("ALLO_FUZZ_FAULT"):
        from ..planted import plant

        plant(fault)
    from tests.replay.watcher import Watcher

    from .quiet import prepare_process

    prepare_process()
    watcher = Watcher()
    # Faults are planted to see which programs find them, by their values.
    with nullcontext() if fault else watcher.watching():
        _serve(tell, watcher)


def _serve(tell: Tell, watcher: Watcher) -> None:
    from .batch import run_batch
    from .evaluate import evaluate
    from .jobs import program_of

    tell("ready", "")
    for number, line in enumerate(sys.stdin):
        job = json.loads(line)
        if "batch" in job:
            run_batch(job, tell)
            watcher.alarms.clear()
            tell("done", "{}")
            continue
        program = program_of(job)
        tell("begin", str(program.seed))
        verdict = evaluate(
            program,
            job["targets"],
            lambda phase: tell("phase", phase),
            oracle=job.get("oracle", True),
        )
        verdict.take(watcher.alarms)
        tell("done", json.dumps(verdict.as_dict(), default=str))
        if number % 50 == 49:
            gc.collect()


if __name__ == "__main__":
    main()
