"""A worker's crash belongs to its program alone, also for callers that stop at the first answer."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from .generator import Program, make_program
from .runner import pool
from .runner.clock import now
from .runner.pool import WAITING, Pool, Worker
from .runner.verdict import CRASH, Verdict


def first_verdict(pool: Pool, program: Program) -> Verdict:
    """As the shrinker asks: one job, one answer, the rest of the run left."""
    job = {"program": json.loads(program.to_json()), "targets": ["cpu"]}
    return next(v for _, v in pool.run([job]))


def test_the_program_after_a_crash_has_a_verdict_of_its_own() -> None:
    sound = make_program(2_000_003)
    aborting = copy.copy(sound)
    aborting.source = "import os\nos.abort()\n" + sound.source
    with Pool(1) as pool:
        crash = first_verdict(pool, aborting)
        after = first_verdict(pool, sound)
    assert (crash.status, crash.reason) == (CRASH, "SIGABRT")
    assert after.status == "ok", after.detail
    assert "cpu" in after.agreed


@contextmanager
def process(text: str) -> Iterator[Worker]:
    """A worker that is a process of Python running ``text``."""
    running = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE)
    assert running.stdout is not None
    running.stdout.readline()
    worker = Worker(running, None)
    worker.heard()
    yield worker
    running.kill()
    running.wait()
    running.stdout.close()


@pytest.mark.parametrize("text", ["while True: pass", "import time; time.sleep(60)"])
def test_time_that_others_take_does_not_count(text: str) -> None:
    """A worker that waits for a processor is no hang, until it has waited for much longer."""
    limit = 0.05
    with process(f"print(flush=True)\n{text}") as worker:
        assert not worker.is_silent(60.0)
        computes = text.startswith("while")
        silent, waited = False, 0.0
        while not silent:
            silent = worker.is_silent(limit)
            waited = now() - worker.since
        assert waited >= (limit if computes else WAITING * limit)


def test_a_worker_without_a_processor_is_no_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it waited in the queue for a processor is not time in which it was silent."""
    with process("print(flush=True)\nimport time; time.sleep(60)") as worker:
        worker.since -= WAITING * 60.0
        assert worker.is_silent(60.0)
        monkeypatch.setattr(pool, "queued_seconds", lambda _: 60.0)
        assert not worker.is_silent(60.0)
