"""The published face of reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from allo.backend.report import Displayer, parse_xml
from allo.errors import BuildError, ToolFailedError

REPORT = (Path(__file__).parent / "gemm_csynth.xml").read_text()


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "out.prj" / "solution1" / "syn" / "report"
    folder.mkdir(parents=True)
    (folder / "csynth.xml").write_text(REPORT)
    return tmp_path


def test_table_of_loops(project, capsys):
    shown = parse_xml(project, "Vitis HLS", "gemm", print_flag=True)
    assert isinstance(shown, Displayer)
    assert shown.display().splitlines() == [
        "Loop             Trip Count  Latency  Iteration Latency  Pipeline II  Pipeline Depth",
        "l_S_i_j_k_0_i             6     1368                228            -               -",
        "  l_j_init                2        2                  1            1               1",
        "  l_k_l_j_outer          20      172                 12            8              12",
        "  l_j_back                2        4                  3            1               3",
    ]
    assert shown.display("l_j_back", cols=["latency"]) == (
        "Loop        Latency\n  l_j_back        4"
    )
    assert len(shown.display(level=0).splitlines()) == 2
    assert shown.get_max("Pipeline II") == ("l_k_l_j_outer", 8)
    assert json.loads((project / "report.json").read_text())["cycles"] == 1431
    assert "gemm" in capsys.readouterr().out


def test_unknown_column(project):
    with pytest.raises(BuildError) as caught:
        parse_xml(project, "Vitis HLS", "gemm").get_max("Area")
    assert str(caught.value) == (
        "A report has no column 'Area'.\nhelp: columns: Trip Count, Latency, Iteration Latency, "
        "Pipeline II, Pipeline Depth."
    )


def test_folder_without_a_report(tmp_path):
    with pytest.raises(ToolFailedError, match="left no csynth.xml report in"):
        parse_xml(tmp_path, "Vitis HLS", "gemm")


def test_report_without_estimates(project):
    for path in project.glob("**/csynth.xml"):
        path.write_text("<profile></profile>")
    with pytest.raises(ToolFailedError, match="holds no performance estimates"):
        parse_xml(project, "Vitis HLS", "gemm")
