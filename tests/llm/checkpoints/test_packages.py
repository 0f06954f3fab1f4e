"""Models of packages: found where they are kept, or refused with what the installer said."""

from __future__ import annotations

from pathlib import Path

import pytest

from allo.designs.llm.checkpoints import packages
from allo.designs.llm.checkpoints.files import CheckpointFileError
from allo.designs.llm.checkpoints.packages import Package, packaged

SIX = Package("six", "1.17.0", "six.py")


def test_a_file_that_is_here_is_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(packages, "_install", lambda flags: pytest.fail("it was fetched"))
    kept = tmp_path / "allo-models" / "six-1.17.0" / "six.py"
    kept.parent.mkdir(parents=True)
    kept.write_text("here")
    assert packaged(SIX) == kept


def test_half_a_download_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def install(flags: list[str]) -> str | None:
        folder = Path(flags[flags.index("--target") + 1])
        folder.mkdir(parents=True)
        (folder / "other.py").write_text("")
        return said

    for said, text in (("no such version", "no such version"), (None, r"it has no six\.py")):
        monkeypatch.setattr(packages, "_install", install)
        with pytest.raises(CheckpointFileError, match=text):
            packaged(SIX)
        assert not list((tmp_path / "allo-models").iterdir())


def test_an_installer_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    nothing = Package("six", "0.0.0.dev0", "six.py")
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(
        CheckpointFileError, match=r"six==0\.0\.0\.dev0 could not be downloaded \(.+\)"
    ):
        packaged(nothing)
