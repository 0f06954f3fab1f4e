"""The site builds without a warning, holds what it should, and needs no network to be read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from allo.customize import Schedule
from scripts.pages import public

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 240


def mkdocs(config: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """Build a site strictly, without running the tutorials."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config), "-d", str(out)],
        cwd=ROOT,
        env={**os.environ, "ALLO_DOCS_RUN": "0", "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; building it wrote no warning."""
    out = tmp_path_factory.mktemp("site")
    done = mkdocs(ROOT / "mkdocs.yml", out)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "WARNING" not in done.stdout + done.stderr
    return out


def test_every_page_is_built(site: Path) -> None:
    sources = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs" / "tutorials").glob("*.py")]
    expected = {source.relative_to(ROOT / "docs").with_suffix(".html") for source in sources}
    built = {page.relative_to(site) for page in site.rglob("*.html")}
    assert expected - built == set()
    assert built - expected == {
        Path(name)
        for name in (
            "404.html",
            "changelog.html",
            "reference/cli.html",
            "reference/primitives.html",
        )
    }


def test_tutorials_are_offered_as_notebooks_and_programs(site: Path) -> None:
    for program in (ROOT / "docs" / "tutorials").glob("*.py"):
        assert (site / "tutorials" / f"{program.stem}.ipynb").is_file()
        assert (site / "tutorials" / f"{program.name}.txt").read_text() == program.read_text()


def test_nothing_is_fetched_from_the_network(site: Path) -> None:
    fetched = re.compile(
        r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=\"?(?:https?:)?//[^>]*>"
    )
    found = [
        f"{page.relative_to(site)}: {tag}"
        for page in site.rglob("*.html")
        for tag in fetched.findall(page.read_text())
        if "canonical" not in tag
    ]
    assert not found


def test_the_command_line_reference_has_every_command(site: Path) -> None:
    text = (site / "reference" / "cli.html").read_text()
    for command in ("build", "doctor", "options", "report", "targets", "version"):
        assert f'id="allo-{command}"' in text
    assert "--target" in text


def test_the_reference_has_every_primitive(site: Path) -> None:
    text = (site / "reference" / "primitives.html").read_text()
    names = list(public.primitives())
    assert {"split", "reorder", "pipeline", "partition", "compose", "to"} <= set(names)
    headings = re.findall(r"<h2[^>]*>(.*?)</h2>", text, re.DOTALL)
    shown = {re.sub(r"<[^>]*>|&para;|¶|\s", "", heading) for heading in headings}
    assert set(names) - shown == set()
    assert all(getattr(Schedule, name).__doc__ for name in names)


def test_the_reference_shows_no_roles_and_no_private_names(site: Path) -> None:
    for page in (site / "reference").glob("*.html"):
        text = page.read_text()
        assert not re.search(r":(?:class|func|meth|mod):", text), page.name
        assert "<p>::</p>" not in text


BROKEN = {
    "[a page](missing.md)": "contains a link 'missing.md', but the target is not found",
    "[a heading](#nowhere)": "there is no such anchor on this page",
    "[a file](../setup)": "contains an unrecognized relative link '../setup'",
}


@pytest.mark.parametrize("link", BROKEN)
def test_a_broken_link_is_refused(link: str, tmp_path: Path) -> None:
    """The validation of mkdocs.yml, on a site of one page."""
    ours = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# Page\n\n{link}\n")
    small = {"site_name": "x", "theme": "readthedocs", "plugins": []}
    small["validation"] = ours["validation"]
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(small))
    done = mkdocs(tmp_path / "mkdocs.yml", tmp_path / "out")
    assert done.returncode == 1
    assert BROKEN[link] in done.stderr
