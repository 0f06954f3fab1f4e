"""Subjects and bodies of commits, as CONTRIBUTING.md asks for them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_LETTERS = 72
# Verbs in the imperative that end like other forms of verbs.
IMPERATIVE = re.compile(r"(?i)(bring|ring|string|feed|seed|speed|need|embed|shed|\w*(ss|us))$")
OTHER_FORM = re.compile(r"(?i)\w+(ed|ing|s)$")


def faults(subject: str, body: str) -> list[str]:
    """What is wrong with a commit's message."""
    found = []
    if len(subject) > MOST_LETTERS:
        found.append(f"the subject has {len(subject)} letters, of at most {MOST_LETTERS}")
    if re.search(r"(?i)\bwip\b", subject):
        found.append('"wip": commit it when it is done, or fold it into the next one')
    if subject.endswith("."):
        found.append("the subject ends with a full stop")
    verb = re.split(r"\W", re.sub(r"^[\w./-]+: ", "", subject))[0]
    if not IMPERATIVE.match(verb) and OTHER_FORM.match(verb):
        found.append(f"the subject begins with {verb!r} and no imperative such as Add, Fix or Say")
    if not body.strip():
        found.append("there is no body that says why")
    return found


def git_log(*arguments: str) -> str:
    """What git says of the history."""
    done = subprocess.run(
        ["git", "log", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"{done.stderr}(a shallow clone? fetch the whole history)"
    return done.stdout


def commits() -> list[list[str]]:
    """Hash, subject and body of each commit since the one that brought these rules, without merges."""
    first = git_log(
        "--diff-filter=A", "--format=%h", "--", f"tests/house/{Path(__file__).name}"
    ).split()
    if not first:  # not committed yet
        return []
    text = git_log("--no-merges", "--format=%h%x1f%s%x1f%b%x1e", f"{first[-1]}~..HEAD")
    return [entry.strip("\n").split("\x1f", 2) for entry in text.split("\x1e") if entry.strip()]


def test_commits_say_what_and_why() -> None:
    found = [
        f"{name} {subject!r}: {fault}"
        for name, subject, body in commits()
        for fault in faults(subject, body)
    ]
    assert not found, "reword with git rebase -i (CONTRIBUTING.md, Commits):\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("subject", "body", "fault"),
    [
        ("Add a " + "very " * 20 + "long one", "Why.", "the subject has 114 letters"),
        ("wip: take lanes as loops", "Why.", '"wip"'),
        ("Added ice40", "Why.", "begins with 'Added'"),
        ("docs: measured again", "Why.", "begins with 'measured'"),
        ("Figures of the docs", "Why.", "begins with 'Figures'"),
        ("Add ice40.", "Why.", "full stop"),
        ("Add ice40", "\n", "no body"),
    ],
)
def test_a_fault_is_seen(subject: str, body: str, fault: str) -> None:
    (found,) = faults(subject, body)
    assert fault in found


@pytest.mark.parametrize(
    "subject",
    [
        "Add ice40",
        "rtl: bring registers",
        "Pass the seed on",
        "Embed fonts",
        "`allo build`: take -o",
    ],
)
def test_a_good_message_passes(subject: str) -> None:
    assert faults(subject, "Because it is asked for.") == []
