"""The benchmark of the estimates: what it says of small designs holds, and its halves are as told apart."""

from __future__ import annotations

import json

import pytest

from benchmarks import estimate_halves as halves

NEAR = {"lut": 0.20, "ff": 0.05, "dsp": 0.0, "bram": 0.0, "mhz": 0.20}
"""How far the estimates of these designs may be off: the worst that the page has for its goal, or less."""
SMALL = ("gemm", "crc32", "largest", "lfsr", "wide", "levenshtein", "stencil2d")
FITTED = (
    "prefix_sum wide gemm quotients crc32 largest float_quotients fir reciprocal levenshtein lfsr "
    "gemm_ncubed stencil3d dfadd motion smith_waterman fft_strided stencil2d idct sha256"
).split()


def test_the_halves_are_those_that_were_told_apart_before_any_error_was_known() -> None:
    found = {half: list(makers) for half, makers in halves.halves().items()}
    assert found["fitted"] == FITTED
    opened = {
        "fft",
        "nw",
        "cic",
        "leb128",
        "radix_sort",
        "dilate",
        "mandelbrot",
        "speck",
        "kmp",
        "a51",
    }
    assert len(found["held out"]) == 14 and not set(found["held out"]) & {*FITTED, *opened}
    assert len(found["measured once"]) == 6 and opened < set(found["looked at"])
    assert len(found["fresh"]) == 3 and not {"speck", "md5"} & set(found["fresh"])


def test_lines_of_python_do_not_count_in_what_a_verilog_is_known_by() -> None:
    text = "wire eq_l29 = i == 4'hE;  // a.py:29:9\nwire add_l29_2 = b_l5;"
    moved = text.replace("l29", "l31").replace("a.py:29", "a.py:31")
    assert halves.fingerprint(text) == halves.fingerprint(moved)
    assert halves.fingerprint(text) != halves.fingerprint(text.replace("hE", "hD"))
    assert halves.fingerprint(text) != halves.fingerprint(text.replace("_2", "_3"))


def counted(design: halves.Design) -> list[halves.Row]:
    """What Yosys counts now, where the Verilog is not the one that was measured."""
    ours, theirs = design.mod.report.resources, design.mod.synthesize().resources
    place = design.name, design.half, design.device
    return [halves.Row(*place, kind, ours.get(kind, 0), theirs[kind]) for kind in ("lut", "ff")]


@pytest.mark.parametrize("device", halves.FAMILIES)
@pytest.mark.parametrize("name", SMALL)
def test_small_designs_are_estimated_as_near_as_the_page_says(name: str, device: str) -> None:
    (design,) = halves.chosen("fitted", [name], [device])
    for row in halves.rows_of(design) or counted(design):
        assert row.error is None or abs(row.error) <= NEAR[row.kind], row


def test_a_wrong_estimate_and_another_verilog_are_seen(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (design,) = halves.chosen("fitted", ["lfsr"], halves.FAMILIES[:1])
    kept = json.loads(halves.KEPT.read_text())
    other = tmp_path / "kept.json"
    monkeypatch.setattr(halves, "KEPT", other)
    kept[design.key]["lut"] *= 2
    other.write_text(json.dumps(kept))
    (row,) = (row for row in halves.rows_of(design) if row.kind == "lut")
    assert row.error is not None and row.error < -0.4
    kept[design.key]["verilog"] = "0" * 16
    other.write_text(json.dumps(kept))
    assert halves.rows_of(design) == []


def test_the_clock_counts_registers_at_the_ports() -> None:
    """As the design is routed: the addresses of `sobel` are its longest path, and go out of it."""
    report = halves.built(halves.looked_at_designs()["sobel"], halves.FAMILIES[1]).report
    assert report.fmax_mhz > 1.1 * halves.between_registers(report)
    assert halves.between_registers(report) == pytest.approx(131, rel=0.1)
