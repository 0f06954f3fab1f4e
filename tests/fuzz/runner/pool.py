"""Worker processes: which job each is at, and what a crash or a hang means for it."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .clock import cpu_seconds, now, queued_seconds
from .verdict import CRASH, TIMEOUT, Verdict, normalised

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS_PER_WORKER = 250
AHEAD = 8
"""Jobs a worker has in its input."""
LIMIT_S = 30.0
"""Seconds that a worker may compute without a word. One that waits for something else than a processor has
:data:`WAITING` times as long."""
WAITING = 10
BATCH_LIMIT_S = 600.0

Job = dict[str, Any]


@dataclass(slots=True)
class Worker:
    """A process and the jobs it was given, in order."""

    process: subprocess.Popen[bytes]
    errors: Any
    jobs: deque[Job] = field(default_factory=deque)
    taken: int = 0
    phase: str = "start"
    seed: int = -1
    answered: set[int] = field(default_factory=set)
    since: float = 0.0
    computed: float = 0.0
    queued: float = 0.0
    buffer: bytes = b""

    def heard(self) -> None:
        """It said something, or was given its first job: its time starts again."""
        self.since, self.computed = now(), cpu_seconds(self.process.pid)
        self.queued = queued_seconds(self.process.pid)

    def is_silent(self, limit: float) -> bool:
        """Whether it has computed for ``limit`` seconds since then, or waited for much longer."""
        waited = now() - self.since
        if waited < limit:
            return False
        waited -= queued_seconds(self.process.pid) - self.queued
        return waited >= WAITING * limit or cpu_seconds(self.process.pid) - self.computed >= limit

    def send(self, job: Job) -> None:
        self.jobs.append(job)
        self.taken += 1
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(job).encode() + b"\n")
            self.process.stdin.flush()


class Pool:
    """Runs jobs on ``workers`` processes and yields (job, verdict) as they come."""

    def __init__(
        self,
        workers: int = 2,
        *,
        fault: str = "",
        limit_s: float = LIMIT_S,
        per_worker: int = PROGRAMS_PER_WORKER,
    ) -> None:
        self.count = workers
        self.limit_s = limit_s
        self.per_worker = per_worker
        self.spent: Counter[str] = Counter()
        self._fault = fault
        self._workers: list[Worker] = []
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in list(self._workers):
            self._end(worker)
        self._selector.close()

    def run(
        self, jobs: Iterable[Job], stop: Callable[[], bool] = lambda: False
    ) -> Iterator[tuple[Job, Verdict]]:
        """Verdicts of all jobs, in the order in which they come; ends early when ``stop`` says so."""
        source = iter(jobs)
        again: deque[Job] = deque()
        ended = False
        while True:
            if not ended and stop():
                ended = True
                source = iter(())
            ended = self._feed(source, again) and not again or ended
            if not any(worker.jobs for worker in self._workers) and not again:
                return
            for key, _ in self._selector.select(timeout=1.0):
                yield from self._read(key.data, again)
            for worker in list(self._workers):
                yield from self._check_time(worker, again)

    # --- jobs -------------------------------------------------------------------

    def _feed(self, source: Iterator[Job], again: deque[Job]) -> bool:
        """Keep every worker's input filled; whether the source has ended."""
        while len(self._workers) < self.count:
            self._start()
        for worker in self._workers:
            while len(worker.jobs) < AHEAD and worker.taken < self.per_worker:
                job = again.popleft() if again else next(source, None)
                if job is None:
                    return True
                if not worker.jobs:
                    worker.heard()
                worker.send(job)
        return False

    def _start(self) -> None:
        errors = tempfile.TemporaryFile()
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.runner.worker"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "ALLO_FUZZ_FAULT": self._fault},
            start_new_session=True,
        )
        worker = Worker(process, errors)
        worker.heard()
        self._workers.append(worker)
        assert process.stdout is not None
        self._selector.register(process.stdout, selectors.EVENT_READ, worker)

    def _end(self, worker: Worker) -> None:
        if worker not in self._workers:
            return
        self._workers.remove(worker)
        assert worker.process.stdout is not None and worker.process.stdin is not None
        self._selector.unregister(worker.process.stdout)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker.process.pid, signal.SIGKILL)
        worker.process.wait()
        for stream in (worker.process.stdout, worker.process.stdin, worker.errors):
            with contextlib.suppress(OSError):
                stream.close()

    # --- answers ----------------------------------------------------------------

    def _read(self, worker: Worker, again: deque[Job]) -> Iterator[tuple[Job, Verdict]]:
        assert worker.process.stdout is not None
        data = os.read(worker.process.stdout.fileno(), 1 << 16)
        if not data:
            yield from self._died(worker, again)
            return
        worker.buffer += data
        *lines, worker.buffer = worker.buffer.split(b"\n")
        for line in lines:
            kind, _, text = line.decode().partition(" ")
            self.spent[worker.phase] += now() - worker.since
            worker.heard()
            if kind == "ready":
                worker.phase = "wait"
            elif kind == "phase":
                worker.phase = text
            elif kind == "begin":
                worker.phase, worker.seed = "make", int(text)
            elif kind == "verdict":
                verdict = Verdict(**json.loads(text))
                worker.answered.add(verdict.seed)
                yield worker.jobs[0], verdict
            elif kind == "done":
                job, worker.phase = worker.jobs.popleft(), "wait"
                worker.answered = set()
                if "batch" not in job:
                    yield job, Verdict(**json.loads(text))
        if not worker.jobs and worker.taken >= self.per_worker:
            self._end(worker)

    def _died(self, worker: Worker, again: deque[Job]) -> Iterator[tuple[Job, Verdict]]:
        """The process is gone: it crashed at the first of its jobs, or failed to start."""
        worker.process.wait()
        status = worker.process.returncode
        worker.errors.seek(0)
        said = worker.errors.read().decode(errors="replace")
        if worker.phase == "start" and status != 0:
            self._end(worker)
            raise RuntimeError(f"A worker does not start:\n{said[-4000:]}")
        jobs = list(worker.jobs)
        again.extend(_rest(worker, jobs[0]) + jobs[1:] if jobs else ())
        self._end(worker)  # before an answer: who asks may stop at it
        if jobs:
            name = signal.Signals(-status).name if status < 0 else f"exit {status}"
            reason = f"{name} {_abort_message(said)}".strip()
            yield jobs[0], self._lost(worker, jobs[0], CRASH, reason, said[:4000])

    def _check_time(self, worker: Worker, again: deque[Job]) -> Iterator[tuple[Job, Verdict]]:
        if worker not in self._workers or not worker.jobs:
            return
        job = worker.jobs[0]
        limit = BATCH_LIMIT_S if "batch" in job else self.limit_s
        if not worker.is_silent(limit):
            return
        again.extend(_rest(worker, job) + list(worker.jobs)[1:])
        self._end(worker)
        yield job, self._lost(worker, job, TIMEOUT, f"past {limit:.0f} s", "")

    def _lost(self, worker: Worker, job: Job, status: str, reason: str, detail: str) -> Verdict:
        seed = worker.seed if "batch" in job else job.get("seed", -1)
        if "program" in job:
            seed = job["program"]["seed"]
        return Verdict(seed, status, worker.phase, reason, detail)


def _rest(worker: Worker, job: Job) -> list[Job]:
    """What is left of a batch without the program that ended its process."""
    if "batch" not in job:
        return []
    seeds = [s for s in job["seeds"] if s != worker.seed and s not in worker.answered]
    return [{**job, "seeds": seeds}] if seeds else []


def _abort_message(said: str) -> str:
    """The assertion or the innermost function of ours that a crashed process named."""
    for line in said.splitlines():
        if "Assertion" in line or "LLVM ERROR" in line or "error:" in line:
            return normalised(line)
    return ""
