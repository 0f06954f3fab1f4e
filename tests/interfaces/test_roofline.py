"""The roofline of a design: operations and bytes of its loops, as data, table and picture."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest

import allo
from allo.backend.sim import MemoryChannel, external_memory
from allo.backend.sim.boundary import roofs
from allo.designs.external import gemm
from allo.errors import PredictionError
from allo.ir.types import float32, int32

from .kernels import agree, build, values

N = 2048
SVG = "{http://www.w3.org/2000/svg}"


def scale(A: float32[N], B: float32[N]):
    for i in range(N):
        B[i] = B[i] + 3.0 * A[i]


def scaled(rate: float) -> tuple[Any, Any]:
    """The schedule and the hardware behind channels of so many bytes a cycle."""
    s = allo.customize(scale)
    s.pipeline("i")
    module = build(s, "m_axi", stalls=0.0)
    channels = [MemoryChannel(f"c{n}", rate, latency=20) for n in range(2)]
    return s, module.variant(memory=dict(zip("AB", channels, strict=True)))


@pytest.mark.parametrize(("rate", "bound"), [(64, "compute"), (3, "memory")])
def test_a_loop_lies_under_the_roof_that_bounds_it(rate, bound) -> None:
    s, module = scaled(rate)
    roof = module.roofline
    loop, run = roof.points
    assert (loop.operations, loop.moved, loop.needed) == (2 * N, 3 * 4 * N, 3 * 4 * N)
    assert loop.intensity == pytest.approx(1 / 6) and loop.bound == bound
    assert (roof.units, roof.unit) == (2, "float operations")
    assert roof.channels == {"c0": rate, "c1": rate} and roof.rate == 2 * rate
    assert loop.speed <= min(roof.units, loop.intensity * roof.rate)
    cycles = agree(s, module, lambda rng: [values(rng, float32, (N,)) for _ in "AB"], (1,))[0]
    assert run.operations == 2 * N and run.speed == pytest.approx(2 * N / cycles, rel=0.03)


def tiles() -> Any:
    size = gemm.Size(32, 32, 256, 4)
    interface = dict.fromkeys(gemm.ARRAYS, {"kind": "m_axi", "copy": False})
    module = build(gemm.schedule(size), interface, stalls=0.0)
    channels = external_memory("hbm2", clock_mhz=300)
    return module.variant(memory=dict(zip(gemm.ARRAYS, channels, strict=False)))


def test_products_of_integers_are_counted_in_all_runs_of_a_task() -> None:
    roof = tiles().roofline
    run = roof.points[-1]
    assert (run.operations, roof.unit, roof.units) == (32 * 32 * 256, "integer products", 16)
    assert 0.9 * roof.units < run.speed < roof.units
    assert sum(p.operations for p in roof.points[:-1]) == run.operations


def test_runs_that_are_not_counted_are_seen(monkeypatch) -> None:
    monkeypatch.setattr(roofs, "_runs", lambda *_: {})
    assert tiles().roofline.points[-1].operations < 32 * 32 * 256


def test_data_table_and_picture_say_the_same() -> None:
    _, module = scaled(64)
    roof = module.roofline
    data = json.loads(json.dumps(roof.to_json()))
    assert [p["name"] for p in data["points"]] == [p.name for p in roof.points]
    assert data["points"][0]["bound"] == "compute" and data["rate"] == 128
    lines = str(roof).splitlines()
    assert len(lines) == 2 + len(roof.points) and lines[1].endswith("compute")
    picture = ElementTree.fromstring(roof.svg())
    assert len(picture.findall(f"{SVG}circle")) == len(roof.points)
    [line] = picture.findall(f"{SVG}polyline")
    corners = [float(pair.split(",")[1]) for pair in line.attrib["points"].split()]
    assert corners[0] > corners[1] == corners[2]
    texts = [text.text for text in picture.findall(f"{SVG}text")]
    assert {p.name for p in roof.points} < set(texts)
    assert roof.svg() in roof.html() and "<pre>" in roof.html()


def test_a_loop_that_moves_nothing_is_in_the_table_only() -> None:
    def twice(A: float32[64], B: float32[64]):
        kept: float32[64]
        for i in range(64):
            kept[i] = A[i]
        for j in range(64):
            kept[j] = kept[63 - j] * 2.0
        for k in range(64):
            B[k] = kept[k]

    s = allo.customize(twice)
    for loop in "ijk":
        s.pipeline(loop)
    roof = build(s, "m_axi", stalls=0.0).roofline
    inner = next(p for p in roof.points if p.operations and p.name != "run")
    assert inner.intensity is None and inner.bound == "compute"
    circles = ElementTree.fromstring(roof.svg()).findall(f"{SVG}circle")
    assert len(circles) == 1


def test_without_masters_there_is_none() -> None:
    def add(A: int32[8], B: int32[8]):
        for i in range(8):
            B[i] = A[i]

    module = allo.customize(add).build(target="verilog", simulator="jit")
    with pytest.raises(PredictionError, match="has no AXI4 masters"):
        _ = module.roofline
