"""The pages are what scripts/gallery writes, and the pictures show what a waveform holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from allo.designs.gallery.catalogue import ENTRIES, Entry, find
from scripts.pages.figures.store import Figures
from scripts.pages.gallery import FAMILY, PAGES, pages
from scripts.pages.measure import measure
from scripts.pages.vcd import read_vcd
from scripts.pages.waveform import Row, draw

MOST_BYTES = 40_000
SAMPLE = """$timescale 1ps $end
 $scope module TOP $end
  $var wire 1 a go $end
  $scope module fir $end
   $var wire 4 b n [3:0] $end
  $upscope $end
 $upscope $end
$enddefinitions $end
#0
0a
#5000
#10000
1a
#15000
b0011 b
#20000
0a
#25000
b1010 b
#30000
"""


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "sample.vcd"
    path.write_text(SAMPLE)
    return path


def test_pages_are_up_to_date() -> None:
    """After an edit of a design: scripts/gallery NAME; of the generator: scripts/gallery --pages."""
    written = pages(Figures().families[FAMILY])
    assert {path.name for path in written} == {path.name for path in PAGES.glob("*.md")}
    for path, text in written.items():
        assert path.read_text() == text, path.name


def test_every_design_of_the_folder_has_an_entry() -> None:
    folder = PAGES.parents[1] / "designs" / "gallery"
    found = {path.stem for path in folder.glob("*/*.py") if path.stem != "__init__"}
    assert found == {entry.name for entry in ENTRIES}
    assert len(ENTRIES) == len(found)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_page_has_its_parts(entry: Entry) -> None:
    text = (PAGES / f"{entry.name}.md").read_text()
    for part in ("**Hardware.**", "**Initiation interval.**", "**Source.**", "## Waveform"):
        assert re.search(re.escape(part) + r"\s+\S", text), part
    picture = (PAGES / "waves" / f"{entry.name}.svg").read_text()
    assert picture.startswith("<svg ")
    assert len(picture.encode()) < MOST_BYTES


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_pictures_are_up_to_date(entry: Entry) -> None:
    figures, picture = measure(entry)
    assert figures == Figures().families[FAMILY][entry.name]
    assert (PAGES / "waves" / f"{entry.name}.svg").read_text() == picture


def test_a_cycle_has_the_value_at_its_end(sample: Path) -> None:
    trace = read_vcd(sample, ["TOP.go", "TOP.fir.n"], 3)
    assert trace.widths == {"TOP.go": 1, "TOP.fir.n": 4}
    assert trace.values == {"TOP.go": (0, 1, 0), "TOP.fir.n": (-1, -1, 3)}


def test_a_signal_that_is_not_there_is_named(sample: Path) -> None:
    with pytest.raises(KeyError, match=r"The waveform has no signal TOP\.fir\.m\."):
        read_vcd(sample, ["TOP.go", "TOP.fir.m"], 3)


def test_a_value_that_stays_is_one_box() -> None:
    picture = draw("x", [Row("n", ("3", "3", None, "4"))], 5)
    assert picture.count('class="b"') == 2
    assert picture.count('class="x"') == 1
    assert re.findall(r'class="n">(\d+)<', picture) == ["5", "6", "7", "8"]


def test_a_wire_steps_where_it_changes() -> None:
    picture = draw("x", [Row("go", ("0", "1", "1"), bit=True)], 0)
    assert 'd="M21 41H55V27H89H123"' in picture


def test_a_long_word_keeps_its_low_digits() -> None:
    assert ">…bcdef01<" in draw("x", [Row("w", ("0123456789abcdef01",))], 0)


def test_names_are_escaped() -> None:
    assert "<title>a&lt;b</title>" in draw("a<b", [Row("w", ("1",))], 0)


def test_find_gives_the_module() -> None:
    assert find("fir").load().N == 256
