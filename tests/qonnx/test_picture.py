"""The picture of a network: a box for each layer with its cycles, and a line for each tensor between them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import onnx

from allo.cli import main
from allo.dialects.reports.figures import DesignReport
from allo.dialects.reports.network import Fifo
from allo.dialects.reports.network import Network as Joined
from allo.dialects.reports.parts import FunctionReport
from allo.dialects.reports.regions import FifoReport, RegionReport
from allo.frontend import from_qonnx
from allo.models.pictures.flows import Flow, flows_of
from allo.models.pictures.layers import Block, blocks_of, picture
from tests.tflite.test_streams import residual_network

from .support import Network

SVG = "{http://www.w3.org/2000/svg}"


def residual():
    rng = np.random.default_rng(0)
    net = Network()
    x = net.quant(net.input(1, 6), 0.25, 4)
    weights = net.quant(net.constant(rng.normal(0, 1, (6, 6))), 0.5, 3)
    y = net.quant(net("MatMul", x, weights), 0.25, 4)
    return net.model(net.quant(net("Add", x, y), 0.5, 4))


def test_layers_and_what_they_read():
    origin = from_qonnx(residual(), target="mlir").origin
    blocks = {block.path: block for block in blocks_of(origin.graph, origin.kinds())}
    assert list(blocks) == ["Quant_0", "MatMul_2", "Quant_3", "Add_4", "Quant_5"]
    assert blocks["Quant_0"].sources == ("",)
    assert set(blocks["Add_4"].sources) == {"Quant_0", "Quant_3"}
    assert (blocks["MatMul_2"].kind, blocks["Quant_3"].result) == ("MatMul", "int4[1, 6]")


def test_a_line_that_skips_layers_passes_beside_them():
    blocks = [
        Block("a", "A", "int4[2]", ("",)),
        Block("b<", "B", "", ("a",)),
        Block("c", "", "", ("a", "b<")),
    ]
    drawn = ElementTree.fromstring(picture(blocks, {"a": 10, "b<": 40}))
    lines = {path.find(f"{SVG}title").text: path.get("d") for path in drawn.findall(f"{SVG}path")}
    assert set(lines) == {"input to a", "a to b<", "a to c", "b< to c"}
    assert [" H " in lines[name] for name in ("a to b<", "a to c")] == [False, True]
    bars = [g.findall(f"{SVG}rect")[1].get("width") for g in drawn.findall(f"{SVG}g")[1:3]]
    assert int(bars[0]) * 4 == int(bars[1])


def test_the_command_draws_what_it_lists(tmp_path):
    file, svg, out = tmp_path / "small.onnx", tmp_path / "small.svg", tmp_path / "small.json"
    onnx.save(residual(), str(file))
    given = ["--samples", "2", "--simulate", "1", "--picture", str(svg), "-o", str(out)]
    main(["network", str(file), *given])
    texts = [text.text for text in ElementTree.parse(svg).getroot().iter(f"{SVG}text")]
    layers = json.loads(out.read_text())["layers"]
    assert [layer["path"] for layer in layers] == [
        b for b in texts if b in {la["path"] for la in layers}
    ]
    assert all(f"{layer['cycles']:,} cycles" in texts for layer in layers)
    assert {"Quant_0", "Quant_3"} == set(
        next(la["sources"] for la in layers if la["path"] == "Add_4")
    )


def test_fifos_lie_between_the_layers_of_their_processes():
    ends = {
        "image": ("stage_source_0", "stage_first_window_0"),
        "sums": ("stage_first_window_0", "stage_first_ends_0"),
        "around": ("stage_first_ends_0", "stage_first_to_first_1_resize_0"),
        "wide": ("stage_first_to_first_1_resize_0", "stage_first_1_0"),
        "result": ("stage_first_1_0", "stage_sink_0"),
    }
    fifos = tuple(Fifo(name, "int8", 9, *both) for name, both in ends.items())
    processes = tuple(dict.fromkeys(end for both in ends.values() for end in both))
    function = FunctionReport("network", "", 100, network=Joined(processes, fifos))
    region = RegionReport("network", "", "", 100)
    region.fifos = [FifoReport(name, 9, 8, most, 40, 0, 0) for most, name in enumerate(ends, 3)]
    report = DesignReport(
        "allo rtl", "verilog", "network", 100.0, 100, functions=[function], regions=[region]
    )
    assert flows_of(report, ["first", "first_1"]) == [
        Flow("", "first", "image", 9, 3),
        Flow("first", "first_1", "around", 9, 5),
    ]


def test_layers_on_streams_and_their_fifos(tmp_path):
    file, svg, out = tmp_path / "block.tflite", tmp_path / "block.svg", tmp_path / "block.json"
    file.write_bytes(residual_network())
    given = ["--streams", "--fps", "20000", "--device", "xc7", "--clock", "100", "--samples", "2"]
    main(["network", str(file), *given, "--simulate", "1", "--picture", str(svg), "-o", str(out)])
    found = json.loads(out.read_text())
    assert (found["equal"], found["cycles"]) == (1, found["predicted"])
    assert found["layers"][0]["result"] == "int8[144]"
    flows = {(flow["source"], flow["target"]): flow for flow in found["fifos"]}
    assert list(flows) == [
        ("", "conv2d_0"),
        ("conv2d_0", "conv2d_1"),
        ("conv2d_0", "add_2"),
        ("conv2d_1", "add_2"),
        ("add_2", "conv2d_3"),
        ("conv2d_3", "depthwise_conv2d_4"),
        ("depthwise_conv2d_4", "average_pool2d_5"),
        ("average_pool2d_5", "fully_connected_6"),
    ]
    around = flows["conv2d_0", "add_2"]
    assert flows["conv2d_1", "add_2"]["most"] < around["most"] <= around["depth"]
    root = ElementTree.parse(svg).getroot()
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert f"{around['most']} of {around['depth']} words" in texts
    assert texts[-1].endswith("words held at most of the FIFO's depth, foretold")
    assert {"conv2d_0 to add_2", "input to conv2d_0"} < {t.text for t in root.iter(f"{SVG}title")}
