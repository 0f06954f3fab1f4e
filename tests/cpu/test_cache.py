"""The cache: where it lies, nothing half-written is ever seen, and what is damaged is made again."""

import json
import shutil
import threading
from pathlib import Path

import pytest

from allo.dialects.caches import place as cache_place
from allo.dialects.caches.files import MANIFEST, cached, cached_text, content_key, publish
from allo.dialects.caches.place import base_folder, spare_folder
from allo.errors import CacheError, CacheWarning, ToolFailedError

NO_ROOM = "g++: fatal error: error writing to /x: No space left on device"


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALLO_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has not warned yet and has no temporary folder."""
    cache_place.warn_unwritable.cache_clear()
    cache_place._spare.cache_clear()
    yield
    cache_place.warn_unwritable.cache_clear()
    cache_place._spare.cache_clear()


class Maker:
    """Writes an entry, and counts how often."""

    def __init__(self, text: str = "content") -> None:
        self.text = text
        self.runs = 0

    def __call__(self, folder: Path) -> None:
        self.runs += 1
        (folder / "lib.so").write_text(self.text)


def test_the_folder_honours_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ALLO_CACHE_DIR", str(tmp_path / "here"))
    assert base_folder() == tmp_path / "here"
    monkeypatch.delenv("ALLO_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert base_folder() == tmp_path / "xdg" / "allo"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert base_folder() == tmp_path / "home" / ".cache" / "allo"


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


def test_an_entry_is_made_once(base: Path):
    maker = Maker()
    folder = cached(("a", "b"), "key", ["lib.so"], maker)
    assert folder == base / "a" / "b" / "key"
    assert cached(("a", "b"), "key", ["lib.so"], maker) == folder
    assert maker.runs == 1
    assert sorted(p.name for p in folder.iterdir()) == [MANIFEST, "lib.so"]


def _halve(folder: Path) -> None:
    file = folder / "lib.so"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _flip(folder: Path) -> None:
    (folder / "lib.so").write_text("kontent")


def _old_version(folder: Path) -> None:
    (folder / MANIFEST).unlink()


def _foreign_manifest(folder: Path) -> None:
    (folder / MANIFEST).write_text("[1, 2]")


def _file_in_the_way(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("in the way")


@pytest.mark.parametrize(
    "damage",
    [
        _halve,
        _flip,
        _old_version,
        _foreign_manifest,
        _file_in_the_way,
        lambda folder: (folder / "lib.so").write_bytes(b""),
        lambda folder: (folder / "lib.so").unlink(),
        lambda folder: (folder / MANIFEST).write_bytes(b"\xff\x00"),
        lambda folder: (folder / MANIFEST).write_text('{"lib.so": 5}'),
    ],
)
def test_a_damaged_entry_is_made_anew(base: Path, damage):
    maker = Maker()
    folder = cached(("a",), "key", ["lib.so"], maker)
    damage(folder)
    assert cached(("a",), "key", ["lib.so"], maker) == folder
    assert (folder / "lib.so").read_text() == "content"
    assert maker.runs == 2
    assert [p.name for p in folder.parent.iterdir()] == ["key"]


def test_of_large_bulky_files_samples_are_checked(base: Path):
    def make(folder: Path) -> None:
        (folder / "h.gch").write_bytes(bytes(9 << 20))

    folder = cached(("a",), "key", [], make, bulky=["h.gch"])
    with open(folder / "h.gch", "r+b") as file:
        file.seek(3 << 20)
        file.write(b"x")
    damaged = (folder / "h.gch").read_bytes()
    cached(("a",), "key", [], make, bulky=["h.gch"])
    assert damaged.count(0) == (9 << 20) - 1
    assert (folder / "h.gch").read_bytes() == bytes(9 << 20)


def test_a_failed_build_leaves_nothing(base: Path):
    def make(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise ToolFailedError("the compiler failed.")

    with pytest.raises(ToolFailedError, match="the compiler failed"):
        cached(("a",), "key", ["half"], make)
    assert list((base / "a").iterdir()) == []


def test_a_compiler_that_writes_nothing_is_an_error(base: Path):
    with pytest.raises(ToolFailedError) as caught:
        cached(("a",), "key", ["lib.so"], lambda folder: None)
    assert str(caught.value) == (
        "A compiler ended well and wrote no lib.so.\n"
        "help: see whether the program that CXX or PATH names is the compiler you mean."
    )
    with pytest.raises(ToolFailedError, match="wrote no lib.so"):
        cached(("a",), "key", ["lib.so"], lambda folder: (folder / "lib.so").touch())
    assert list((base / "a").iterdir()) == []


def test_the_first_of_two_builds_stays(base: Path):
    inner, outer = Maker("inner"), Maker("outer")

    def late(folder: Path) -> None:
        cached(("a",), "key", ["lib.so"], inner)
        outer(folder)

    folder = cached(("a",), "key", ["lib.so"], late)
    assert (folder / "lib.so").read_text() == "inner"
    assert [p.name for p in folder.parent.iterdir()] == ["key"]


def test_eight_threads_build_one_entry(base: Path):
    barrier = threading.Barrier(8)
    found: list[str] = []
    maker = Maker()

    def run() -> None:
        barrier.wait(timeout=30)
        for n in range(10):
            folder = cached(("a",), f"key{n}", ["lib.so"], maker)
            found.append((folder / "lib.so").read_text())

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert found == ["content"] * 80
    assert maker.runs == 10
    assert sorted(p.name for p in (base / "a").iterdir()) == [f"key{n}" for n in range(10)]


@pytest.mark.parametrize("where", ["/proc/nocache", "/dev/null/cache", "/" + "x" * 300])
def test_without_a_folder_builds_go_on_with_one_warning(where: str, monkeypatch, afresh):
    monkeypatch.setenv("ALLO_CACHE_DIR", where)
    maker = Maker()
    with pytest.warns(CacheWarning) as caught:
        folder = cached(("a",), "key", ["lib.so"], maker)
        assert cached(("a",), "key", ["lib.so"], maker) == folder
        assert cached_text(("b",), "text", lambda: "made") == "made"
    assert maker.runs == 1
    assert (folder / "lib.so").read_text() == "content"
    spare = spare_folder()
    assert spare is not None
    assert folder == spare / "a" / "key"
    (warning,) = caught.list
    assert warning.filename == __file__
    assert f"The cache folder {where} cannot be written (" in str(warning.message)
    assert "in the environment variable ALLO_CACHE_DIR." in str(warning.message)


def test_an_unknown_home_is_no_obstacle(monkeypatch, afresh):
    monkeypatch.setenv("ALLO_CACHE_DIR", "~nobody-of-this-name/cache")
    with pytest.warns(CacheWarning, match="no home folder is known"):
        folder = cached(("a",), "key", ["lib.so"], Maker())
    assert (folder / "lib.so").read_text() == "content"


def test_without_any_folder_the_error_is_named(monkeypatch, tmp_path, afresh):
    monkeypatch.setenv("ALLO_CACHE_DIR", "/proc/nocache")
    monkeypatch.setattr("tempfile.tempdir", "/proc/notemp")
    with pytest.warns(CacheWarning), pytest.raises(CacheError) as caught:
        cached(("a",), "key", ["lib.so"], Maker())
    assert "neither the cache folder nor a temporary folder can be written" in str(caught.value)
    assert "help: name folders that can be written in ALLO_CACHE_DIR and TMPDIR." in str(
        caught.value
    )


def test_a_disk_that_fills_up_while_compiling(base: Path, afresh):
    """Of the compiler, and of our own writes: the entry is made in the temporary folder instead."""

    def make(folder: Path) -> None:
        (folder / "lib.so").write_text("content")
        if folder.is_relative_to(base):
            raise ToolFailedError("g++ failed.", notes=("line", NO_ROOM))

    with pytest.warns(CacheWarning, match="No space left on device"):
        folder = cached(("a",), "key", ["lib.so"], make)
    assert not folder.is_relative_to(base)
    assert (folder / "lib.so").read_text() == "content"
    assert list((base / "a").iterdir()) == []


def test_a_full_temporary_folder_is_named_and_not_the_cache(base: Path, afresh, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/dev/shm")

    def make(folder: Path) -> None:
        said = "g++: fatal error: error writing to /dev/shm/cc1.s: No space left on device"
        raise ToolFailedError("g++ failed.", notes=(said,))

    with pytest.raises(CacheError) as caught:
        cached(("a",), "key", ["lib.so"], make)
    assert caught.value.message == (
        "A compiler could not write its temporary files to /dev/shm: No space left on device."
    )
    assert caught.value.help == "free some space there, or name another folder in TMPDIR."
    assert list((base / "a").iterdir()) == []


def test_a_full_disk_everywhere_is_a_named_error(base: Path, afresh):
    def make(folder: Path) -> None:
        with open("/dev/full", "w") as file:
            file.write("x")

    with pytest.warns(CacheWarning), pytest.raises(CacheError) as caught:
        cached(("a",), "key", ["lib.so"], make)
    assert "cannot be written: No space left on device." in caught.value.message
    assert caught.value.help == (
        "free some space, or name other folders in ALLO_CACHE_DIR and TMPDIR."
    )


def test_texts_are_checked(base: Path):
    made = []

    def make() -> str:
        made.append(1)
        return json.dumps({"a": "ä"})

    assert cached_text(("t",), "x.json", make) == make()
    assert cached_text(("t",), "x.json", make) == '{"a": "\\u00e4"}'
    assert len(made) == 2
    file = base / "t" / "x.json"
    for content in (file.read_bytes()[:-3], b"", b"\xff\xfe\n{}", b"{}"):
        file.write_bytes(content)
        assert json.loads(cached_text(("t",), "x.json", make)) == {"a": "ä"}
    assert len(made) == 6
