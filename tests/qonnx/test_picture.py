"""The picture of a network: a box for each layer with its cycles, and a line for each tensor between them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import onnx

from allo.cli import main
from allo.frontend import from_qonnx
from allo.models.pictures.layers import Block, blocks_of, picture

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
