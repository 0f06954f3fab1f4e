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
    from .batch import run_batch
    from .evaluate import evaluate
    from .jobs import program_of
    from .quiet import prepare_process

    prepare_process()
    tell("ready", "")
    for number, line in enumerate(sys.stdin):
        job = json.loads(line)
        if "batch" in job:
            run_batch(job, tell)
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
        tell("done", json.dumps(verdict.as_dict(), default=str))
        if number % 50 == 49:
            gc.collect()


if __name__ == "__main__":
    main()
