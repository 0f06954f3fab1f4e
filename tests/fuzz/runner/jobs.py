"""What a worker is asked to run."""

from __future__ import annotations

import json
from typing import Any

from ..generator import Program, make_program


def program_of(job: dict[str, Any]) -> Program:
    """The program of a job: written out in it, or of its seed."""
    if "program" in job:
        return Program.from_json(json.dumps(job["program"]))
    return make_program(job["seed"], job.get("only"), job.get("skip", ()))
