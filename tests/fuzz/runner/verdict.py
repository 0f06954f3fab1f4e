"""What became of a program."""

from __future__ import annotations

import re
import traceback
from dataclasses import asdict, dataclass, field
from typing import Any

from allo.errors import AlloError, InternalError, ToolFailedError, VerificationError

OK, REJECT, WRONG, ERROR = "ok", "reject", "wrong", "error"
CRASH, TIMEOUT = "crash", "timeout"
FAILURES = (WRONG, ERROR, CRASH, TIMEOUT)


@dataclass(slots=True)
class Verdict:
    """One program's outcome.

    Attributes:
        status: ok, reject (refused by name), wrong (values differ), error (an exception without a
            name, or one where there must be none), crash, timeout.
        target: where it happened.
        reason: short and without numbers, to count by.
        detail: the whole message.
        agreed: targets whose results were compared and equal.
        oracle: whether the source-level oracle gave the reference.
        steps: the schedule's steps that applied.
        refused: primitives refused on the way, by name and class of the error.
        options: the options that were drawn for its builds.
        declined: refusals of these, by option, which the build then lacks.
        features: what the program holds.
    """

    seed: int
    status: str
    target: str = ""
    reason: str = ""
    detail: str = ""
    agreed: list[str] = field(default_factory=list)
    oracle: bool = False
    steps: list[Any] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    declined: list[str] = field(default_factory=list)
    features: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return self.status in FAILURES

    @property
    def signature(self) -> str:
        """Failures of one signature are taken for one class until looked at."""
        return f"{self.status} {self.target}: {self.reason}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def take(self, alarms: list[str]) -> None:
        """Take in, and take away, what was seen of schedules that differ from their sources."""
        if alarms and not self.failed:
            self.status, self.target = WRONG, "replay"
            self.reason, self.detail = normalised(alarms[0]), "\n".join(alarms)
        alarms.clear()


_INTERNAL = re.compile(r"MLIRError|does not parse|cannot simulate|Verification failed|assembly")


def is_named(error: BaseException) -> bool:
    """Whether an exception is a refusal with a name: of ours, and no fault of the compiler itself."""
    unforeseen = (InternalError, VerificationError, ToolFailedError)
    if not isinstance(error, AlloError) or isinstance(error, unforeseen):
        return False
    return not _INTERNAL.search(error.message)


_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|<[^>]*>|\[[^\]]*\]|\([^)]*\)")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_NAME = re.compile(r"\b[A-Za-z]+_?N\w*\b")


def normalised(text: str) -> str:
    """The first line of a message without names, places and numbers."""
    first = text.strip().splitlines()[0] if text.strip() else ""
    first = re.sub(r"^<fuzz[^>]*>(:\d+)*:? ?", "", first)
    first = _QUOTED.sub("…", first)
    return _NAME.sub("…", _NUMBER.sub("N", first))[:110]


def reason_of(error: BaseException) -> str:
    """Class, place in our sources and message of an exception."""
    name = type(error).__name__
    message = error.message if isinstance(error, AlloError) else str(error)
    if is_named(error):
        return f"{name}: {normalised(message)}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/allo/" in f.filename]
    where = ""
    if frames:
        last = frames[-1]
        where = f" in {last.filename.split('/allo/')[-1]}:{last.name}"
    return f"{name}{where}: {normalised(message)}"
