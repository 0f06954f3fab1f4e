"""Programs that tests compile with ``g++``; kept in the user's cache by their preprocessed text."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from allo.dialects.caches.files import cached, content_key


def program(folder: Path, command: Sequence[str], sources: Sequence[str]) -> Path:
    """The program, or library, that the compiler's command makes of sources of a folder."""

    def run(*arguments: str) -> str:
        words = [*command, *arguments]
        done = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def make(made: Path) -> None:
        run(*sources, "-o", str(made / "program"))

    texts = [run("-E", "-P", source) for source in sources]
    options = [word for word in command if not word.startswith("-I")]
    key = content_key(" ".join(options), run("--version"), *texts)
    return cached(("checks", "programs"), key, ["program"], make) / "program"
