"""Many programs through one run of g++: csim kernels side by side, Verilated models side by side.

A compiler run costs about a second, a small kernel in it some tens of milliseconds. Each program is
emitted as for a build of its own; only where its text is compiled differs. A batch that does not
compile is built program by program, so that the one at fault is known.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .builds import build as build_module
from .csim_batch import attach_csim
from .evaluate import Failed, Prepared, _ended, prepare, run_module
from .jobs import program_of
from .space import namespace
from .verdict import OK, Verdict
from .verilator_batch import attach_verilator

Tell = Callable[[str, str], None]
_ATTACH: dict[str, Callable[[list[Any], Path], None]] = {
    "csim": attach_csim,
    "verilator": attach_verilator,
}


def run_batch(job: dict[str, Any], tell: Tell) -> None:
    """Run the programs of ``job["seeds"]`` on ``job["batch"]``; tells a verdict for each."""
    with contextlib.ExitStack() as stack, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        ready = []
        for seed in job["seeds"]:
            made = _prepare(seed, job, tell, stack)
            if made is not None:
                ready.append(made)
        tell("phase", f"{job['batch']} compile")
        folder = Path(tempfile.mkdtemp(prefix="allo_fuzz_"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        try:
            _ATTACH[job["batch"]]([module for _, module in ready], folder)
        except Exception as error:
            tell("phase", f"batch does not compile: {type(error).__name__}")
        for prepared, module in ready:
            _run(prepared, module, job["batch"], tell)


def _prepare(
    seed: int, job: dict[str, Any], tell: Tell, stack: contextlib.ExitStack
) -> tuple[Prepared, Any] | None:
    """A program with its reference and its module, not yet compiled; None where it ends here."""
    tell("begin", str(seed))
    program = program_of({**job, "seed": seed})
    verdict = Verdict(seed, OK, features=list(program.features))

    def phase(text: str) -> None:
        tell("phase", text)

    try:
        space = stack.enter_context(namespace(program))
        prepared = prepare(program, space, verdict, phase, oracle=job.get("oracle", True))
        phase(f"{job['batch']} build")
        try:
            module = build_module(prepared, job["batch"])
        except (Exception, SystemExit) as error:
            raise _ended(verdict, f"{job['batch']} build", error) from None
    except Failed:
        tell("verdict", json.dumps(verdict.as_dict(), default=str))
        return None
    return prepared, module


def _run(prepared: Prepared, module: Any, target: str, tell: Tell) -> None:
    tell("begin", str(prepared.program.seed))
    with contextlib.suppress(Failed):
        run_module(prepared, target, module, lambda phase: tell("phase", phase))
    tell("verdict", json.dumps(prepared.verdict.as_dict(), default=str))


__all__: Sequence[str] = ["run_batch"]
