"""The cache: where it lies, and that nothing half-written is ever seen."""

from pathlib import Path

import pytest

from allo.dialects.cache import cache_dir, content_key, publish, publishing


def test_cache_dir_honours_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ALLO_CACHE_DIR", str(tmp_path / "here"))
    assert cache_dir("runtime", "x") == tmp_path / "here" / "runtime" / "x"
    assert (tmp_path / "here" / "runtime" / "x").is_dir()
    monkeypatch.delenv("ALLO_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir() == tmp_path / "xdg" / "allo"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_dir() == tmp_path / "home" / ".cache" / "allo"


def test_content_key_separates_parts(tmp_path: Path):
    file = tmp_path / "f"
    file.write_bytes(b"ab")
    assert content_key("ab", "c") != content_key("a", "bc")
    assert content_key("ab") == content_key(b"ab") == content_key(file)
    assert len(content_key("")) == 32


def test_publish_replaces_whole_files(tmp_path: Path):
    target = tmp_path / "deep" / "file"
    publish(target, "one")
    publish(target, b"two")
    assert target.read_text() == "two"
    assert [p.name for p in target.parent.iterdir()] == ["file"]


def test_a_failed_build_leaves_nothing(tmp_path: Path):
    target = tmp_path / "built"
    with pytest.raises(RuntimeError, match="compiler"), publishing(target) as folder:
        (folder / "half").write_text("x")
        raise RuntimeError("compiler")
    assert list(tmp_path.iterdir()) == []


def test_the_first_publisher_wins(tmp_path: Path):
    target = tmp_path / "built"
    with publishing(target) as late:
        (late / "who").write_text("late")
        with publishing(target) as early:
            (early / "who").write_text("early")
    assert (target / "who").read_text() == "early"
    assert [p.name for p in tmp_path.iterdir()] == ["built"]


def test_a_file_in_the_way_is_reported(tmp_path: Path):
    target = tmp_path / "built"
    target.write_text("in the way")
    with pytest.raises(FileExistsError, match="is not a folder"), publishing(target):
        pass
