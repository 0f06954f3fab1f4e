"""Measured figures stand once: what ``scripts/figures`` checks, and that it finds planted faults."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.pages.figures import measure
from scripts.pages.figures.check import faults
from scripts.pages.figures.marks import filled
from scripts.pages.figures.measure import BENCHMARKS, OWN
from scripts.pages.figures.program import main
from scripts.pages.figures.store import FOLDER, FigureError, Figures

PAGE = (
    "Ours takes <!-- figure: toy.fir.cycles -->1,234<!-- /figure --> cycles, busy "
    "<!-- figure: toy.fir.busy.share % -->96.5<!-- /figure --> %.\n\n"
    "<!-- table: toy -->\n| 1234 |\n<!-- /table -->\n"
)
TOY = {"toy": lambda figures: f"| {figures.find('toy.fir.cycles')} |"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree of one family, one page and one test, without a fault."""
    for name in ("benchmarks/figures", "docs", "tests"):
        (tmp_path / name).mkdir(parents=True)
    figures = Figures(tmp_path / "benchmarks/figures")
    figures.record("toy.fir.cycles", 1234)
    figures.record("toy.fir.busy.share", 0.9651)
    figures.save()
    (tmp_path / "docs/page.md").write_text(PAGE)
    (tmp_path / "tests/test_toy.py").write_text('figures.hold("toy.fir.cycles", cycles)\n')
    return tmp_path


def found(root: Path) -> list[str]:
    return faults(Figures(root / "benchmarks/figures"), TOY, root)


def test_files_pages_and_tests_agree() -> None:
    assert main(["--check"]) == 0


def test_a_tree_without_a_fault_has_none(root: Path) -> None:
    assert found(root) == []


@pytest.mark.parametrize(
    ("path", "old", "new", "fault"),
    [
        (
            "docs/page.md",
            ">1,234<",
            ">1,233<",
            "docs/page.md:1 is not as recorded: scripts/figures",
        ),
        ("docs/page.md", ">96.5<", ">97<", "docs/page.md:1 is not as recorded"),
        ("docs/page.md", "| 1234 |", "| 1235 |", "docs/page.md:4 is not as recorded"),
        (
            "docs/page.md",
            "Ours",
            "Ours, 1,234,",
            "docs/page.md:1: 1,234 is the figure toy.fir.cycles",
        ),
        ("docs/page.md", "fir.cycles", "fur.cycles", "Did you mean 'toy.fir.cycles'?"),
        ("docs/page.md", "table: toy", "table: tiy", "page.md has the table 'tiy'; there are toy."),
        ("docs/page.md", "<!-- /table -->", "", "page.md has a mark of a figure without its end"),
        ("docs/page.md", "share %", "share %%", "The form '%%' of a figure is neither"),
        (
            "tests/test_toy.py",
            "toy.fir",
            "toy.fur",
            "tests/test_toy.py:1: no figure 'toy.fur.cycles'",
        ),
        ("tests/test_toy.py", "cycles)", "1_234)", "tests/test_toy.py:1: 1_234 is the figure"),
        ("benchmarks/figures/toy.json", "1234", "1235", "toy.json was edited by hand"),
        ("benchmarks/figures/toy.json", "fir.cycles", "fir.ticks", "toy.json was edited by hand"),
    ],
)
def test_a_planted_fault_is_told(root: Path, path: str, old: str, new: str, fault: str) -> None:
    file = root / path
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    assert fault in "\n".join(found(root))


def test_a_line_may_have_the_same_number_for_another_reason(root: Path) -> None:
    with (root / "docs/page.md").open("a") as page:
        page.write("It has 1,234 lines. <!-- figure elsewhere -->\n")
    assert found(root) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"figures": 3}'])
def test_a_file_of_another_form_is_refused(root: Path, text: str) -> None:
    (root / "benchmarks/figures/toy.json").write_text(text)
    with pytest.raises(
        FigureError, match=r"toy\.json is no file of figures .* --only toy writes it"
    ):
        Figures(root / "benchmarks/figures")


def test_a_key_says_what_is_measured(root: Path) -> None:
    with pytest.raises(
        FigureError, match="'toy.fir.speed' does not say what is measured; its last"
    ):
        Figures(root / "benchmarks/figures").record("toy.fir.speed", 3)


def test_a_page_is_written_from_the_figures(root: Path) -> None:
    figures = Figures(root / "benchmarks/figures")
    figures.record("toy.fir.cycles", 999)
    text = filled(root / "docs/page.md", PAGE, figures, TOY)
    assert text == PAGE.replace("1,234", "999").replace("1234", "999")


def test_a_value_of_a_data_file_is_written_from_the_figures(root: Path) -> None:
    text = 'title = "x"\ncycles = 5 # figure: toy.fir.cycles\n'
    expected = text.replace("= 5 ", "= 1234 ")
    figures = Figures(root / "benchmarks/figures")
    assert filled(Path("systems.toml"), text, figures, TOY) == expected


def test_a_family_that_nothing_measures_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--update", "--only", "polybunch"]) == 2
    assert "There is no family 'polybunch' of figures; there are" in capsys.readouterr().err


HOLDING = """
def test_it(figures):
    figures.hold("polybench.gemm.dsp_220.cycles", {measured}, report={report})
"""


@pytest.mark.parametrize(
    ("more", "report", "passes", "said"),
    [
        (0, 0, True, ""),
        (-1, -1, True, "better than recorded: polybench.gemm.dsp_220.cycles, "),
        (1, 1, False, "The figure polybench.gemm.dsp_220.cycles is worse: "),
        (0, 1, False, "measured, and the report says"),
    ],
)
def test_a_test_fails_where_a_figure_is_worse(
    pytester: pytest.Pytester, more: int, report: int, passes: bool, said: str
) -> None:
    recorded = int(Figures().find("polybench.gemm.dsp_220.cycles"))
    text = HOLDING.format(measured=recorded + more, report=recorded + report)
    pytester.makepyfile(text)
    result = pytester.runpytest("-p", "tests.figures_plugin")
    result.assert_outcomes(passed=int(passes), failed=int(not passes))
    output = result.stdout.str()
    assert said in output
    assert ("run scripts/figures --update --only polybench" in output) == (more < 0)


def test_figures_are_measured_where_they_are_asked_for(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new key, a worse figure and one that two tests measure otherwise; other tests do not run."""
    pytester.makepyfile(
        """
        def test_one(figures):
            figures.hold("toy.new.cycles", 7)
            figures.hold("polybench.gemm.dsp_220.cycles", 10**9)
        def test_two(figures):
            figures.hold("toy.new.cycles", 8)
        def test_three(figures):
            figures.hold("toy.failed.cycles", 1)
            assert False
        def test_other():
            assert False
        """
    )
    out = pytester.path / "out.json"
    monkeypatch.setenv("ALLO_FIGURES_OUT", str(out))
    pytester.runpytest("-p", "tests.figures_plugin").assert_outcomes(
        passed=2, failed=1, deselected=1
    )
    content = json.loads(out.read_text())
    assert content["figures"] == {"toy.new.cycles": 7, "polybench.gemm.dsp_220.cycles": 10**9}
    assert content["contradictions"] == ["toy.new.cycles was measured as 7 and as 8"]


def test_a_key_that_is_not_recorded_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile('def test_it(figures): figures.hold("polybench.gem.dsp_220.cycles", 1)')
    result = pytester.runpytest("-p", "tests.figures_plugin")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*No figure 'polybench.gem.dsp_220.cycles' is recorded in polybench.json. Did you mean "
            "'polybench.gemm.dsp_220.cycles'? scripts/figures --update --only polybench measures *"
        ]
    )


def test_every_family_is_measured_by_something() -> None:
    by_programs = {name for benchmark in BENCHMARKS for name in benchmark.families} | set(OWN)
    for path in FOLDER.glob("*.json"):
        assert path.stem in by_programs or measure.test_files([path.stem]), path.name
