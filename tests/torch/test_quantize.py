"""Quantised models: the reference's bits on every target, what the integers mean, and what is refused."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

import allo
from allo.errors import ModelError, UnsupportedOperatorError
from allo.frontend import from_pytorch
from allo.models.integers.arithmetic import multipliers
from allo.torch.exporting import KNOWN, export_model
from allo.torch.quantize.observe import Peaks
from allo.torch.quantize.rewrite import rewrite
from allo.torch.quantize.smooth import migrate, migrated_norms
from allo.torch.quantize.weights import SCHEMES, quantize_rows
from allo.torch.running import FloatModel, fold_fixed
from tests.torch import models
from tests.torch.support import arrays, assert_equal_bits, check_hardware, initialised, tensor


class Joined(nn.Module):
    """Parts of different scales side by side, a difference and a mean."""

    def __init__(self) -> None:
        super().__init__()
        self.left = nn.Linear(6, 4)
        self.right = nn.Linear(6, 4)
        self.last = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a, b = self.left(x), torch.relu(self.right(x))
        both = torch.cat([b, b - a], 1).mean(1, keepdim=True)
        return self.last(both * torch.sigmoid(a) + b)


class SharedHeads(nn.Module):
    """Attention in which two heads of queries share one of keys, then the mean of everything."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.kv = nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, kv = self.q(x).view(1, 4, 5, 2), self.kv(x).view(1, 2, 5, 2)
        attend = nn.functional.scaled_dot_product_attention
        return attend(q, kv, kv, is_causal=True, enable_gqa=True).mean()


def grouped() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(16, 4, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
        nn.Conv2d(4, 4, 2, padding="same", groups=2, dilation=2),
        nn.BatchNorm2d(4),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(16, 3),
    )


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[int], torch.Tensor]]] = {
    "mlp": (
        lambda: nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)),
        lambda k: tensor(2, 8, seed=k),
    ),
    "long rows": (
        lambda: nn.Sequential(nn.Linear(300, 3), nn.ReLU(), nn.Linear(3, 4, bias=False)),
        lambda k: tensor(2, 300, seed=k),
    ),
    "grouped": (grouped, lambda k: tensor(1, 16, 9, 9, seed=k)),
    "norm first": (
        lambda: nn.Sequential(
            nn.BatchNorm1d(3), nn.Conv1d(3, 4, 3), nn.ReLU(), nn.BatchNorm1d(4), nn.Conv1d(4, 2, 2)
        ),
        lambda k: tensor(1, 3, 8, seed=k),
    ),
    "shared heads": (SharedHeads, lambda k: tensor(1, 5, 8, seed=k)),
    "joined": (Joined, lambda k: tensor(2, 3, 6, seed=k)),
    "resnet": (models.ResNetBlock, lambda k: tensor(1, 3, 6, 6, seed=k)),
    "mobile": (models.MobileBlock, lambda k: tensor(1, 4, 5, 5, seed=k)),
    "bert": (models.BertBlock, lambda k: tensor(1, 5, 8, seed=k)),
    "gpt": (models.GptBlock, lambda k: tensor(1, 5, 8, seed=k)),
    "llama": (models.LlamaBlock, lambda k: tensor(1, 4, 8, seed=k)),
    "Gpt": (
        models.Gpt,
        lambda k: torch.from_numpy(np.random.default_rng(k).integers(0, 11, (1, 5))),
    ),
}
MODELS |= {
    "Bert": (models.Bert, MODELS["Gpt"][1]),
    "SpelledGpt": (models.SpelledGpt, MODELS["Gpt"][1]),
    "Llama": (
        models.Llama,
        lambda k: torch.from_numpy(np.random.default_rng(k).integers(0, 11, (1, 4))),
    ),
    "Upscaling": (models.Upscaling, lambda k: tensor(1, 4, 3, 3, seed=k)),
}
LEAST_DB = {"w8a8": 30.0, "w4a8": 10.0}


@functools.cache
def quantised(name: str, scheme: str = "w8a8", calls: int = 4):
    make, sample = MODELS[name]
    calibration = [sample(k) for k in range(calls)]
    return allo.quantize(initialised(make()), calibration, scheme), calibration


@pytest.mark.parametrize("scheme", ["w8a8", "w4a8"])
@pytest.mark.parametrize("name", MODELS)
def test_the_cpu_has_the_references_bits(name: str, scheme: str) -> None:
    model, calibration = quantised(name, scheme)
    built = model.customize().build()
    for x in [*calibration, MODELS[name][1](77)]:
        assert_equal_bits(arrays(built(*arrays([x]))), arrays(model.reference(x)))
    row = model.table(calibration).rows[1]
    assert row.signal_to_noise_db is not None and row.signal_to_noise_db > LEAST_DB[scheme]


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("grouped", "w4a8"),
        ("joined", "w8a8"),
        ("gpt", "w8a8"),
        ("llama", "w4a8"),
        ("Upscaling", "w8a8"),
    ],
)
def test_hardware_and_csim_have_the_references_bits(name: str, scheme: str, tmp_path) -> None:
    model, calibration = quantised(name, scheme)
    s, expected = model.customize(), arrays(model.reference(calibration[-1]))
    given = arrays([calibration[-1]])
    rtl = check_hardware(s, calibration[-1])
    assert_equal_bits(arrays(rtl(*given)), expected)
    got = [np.zeros_like(array) for array in expected]
    s.build(target="vitis_hls", mode="csim", project=str(tmp_path / "csim.prj"))(*given, *got)
    assert_equal_bits(got, expected)


@pytest.mark.parametrize("scheme", ["w8a8", "w4a8"])
def test_verilator_has_the_references_bits(scheme: str) -> None:
    model, calibration = quantised("mlp", scheme)
    rtl = model.customize().build(target="verilog", simulator="verilator")
    expected = arrays(model.reference(calibration[-1]))
    assert_equal_bits(arrays(rtl(*arrays([calibration[-1]]))), expected)


def test_from_pytorch_takes_it_with_weights_as_arguments() -> None:
    model, calibration = quantised("long rows", "w4a8")
    built = from_pytorch(model, [calibration[0]], weights_as_args=True)
    kinds = {array.dtype.name for array in built.weight_data}
    assert kinds == {"int8", "uint8", "int32", "float32"}
    got = built(calibration[1].numpy())
    assert_equal_bits(arrays(got), arrays(model.reference(calibration[1])))
    assert "int4[3, 300]" in model.customize().source
    # 909 weights of 4 bits would be 455 bytes; factors, biases, multipliers and scales are beside them.
    assert model.weight_bytes == (3 * 300 + 4 * 3) // 2 + 3 * 3 + 4 * (3 + 3) + 4 * (4 + 4)


def test_convolutional_networks_are_integers_but_for_their_ends() -> None:
    model, _ = quantised("grouped")
    floats = [op.target for op in model.graph.operators if op.target.startswith("aten")]
    assert floats == ["aten.max_pool2d.default", "aten.view.default"]
    assert [op.metas[0].dtype for op in model.graph.operators][:-1] == ["int8"] * 6
    first = [op.target for op in quantised("norm first")[0].graph.operators]
    assert first == ["quantized.quantize", *["quantized.conv1d"] * 4]
    joined = {op.target.partition(".")[2] for op in quantised("joined")[0].graph.operators}
    assert {"linear", "lookup", "add", "mul", "mean", "rescale", "cat.default"} <= joined


def test_what_models_spell_out_is_one_operator() -> None:
    graph = quantised("Llama")[0].graph
    targets = [op.target for op in graph.operators]
    assert targets.count("aten.rms_norm.default") == 5 and "aten.mean.dim" not in targets
    weight = next(op for op in graph.operators if op.target == "aten.rms_norm.default").args
    assert weight["weight"] is not None and weight["eps"] == 1e-5
    spelled = quantised("SpelledGpt")[0].graph.operators
    assert [op.args["function"] for op in spelled if "function" in op.args] == ["tanh"] * 2
    kinds = {op.target for op in spelled}
    assert not kinds & {"aten.pow.Tensor_Scalar", "aten.addmm.default", "aten.tanh.default"}
    assert "aten.log_softmax.int" in kinds


def test_a_root_mean_square_that_is_read_twice_stays() -> None:
    class Read(nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            root = torch.sqrt((x * x).mean(-1, keepdim=True) + 0.5)
            return x / root, root

    model = allo.quantize(Read(), [tensor(2, 6, seed=k) for k in range(3)])
    assert "aten.rms_norm.default" not in [op.target for op in model.graph.operators]
    x = tensor(2, 6, seed=8)
    assert_equal_bits(arrays(model.customize().build()(x.numpy())), arrays(model.reference(x)))


def test_the_residuals_of_a_network_are_added_in_integers() -> None:
    network = nn.Sequential(models.ResNetBlock(), models.ResNetBlock(4, 4, 1))
    model = allo.quantize(initialised(network), [tensor(1, 3, 6, 6, seed=k) for k in range(3)])
    targets = [op.target for op in model.graph.operators]
    assert targets.count("quantized.add") == 2 and targets.count("quantized.dequantize") == 1
    x = tensor(1, 3, 6, 6, seed=5)
    assert_equal_bits(arrays(model.customize().build()(x.numpy())), arrays(model.reference(x)))


def test_a_linear_layer_by_hand() -> None:
    layer = nn.Linear(2, 1)
    layer.weight.data, layer.bias.data = torch.tensor([[1.0, -0.5]]), torch.tensor([0.25])
    model = allo.quantize(layer, [torch.tensor([[2.0, -1.0]])])
    # The scales are 1/127 and 2/127: weights 127 and -64 (-63.5, to even), inputs 127 and -64 (-63.5).
    # The bias is 0.25 · 127 · 127 / 2 = 2016 in those units.
    expected = np.float32(127 * 127 + 64 * 64 + 2016) * np.float32(2 / 127 / 127)
    np.testing.assert_array_equal(
        model.reference(np.array([[2.0, -1.0]], np.float32)), [[expected]]
    )


def test_requantisation_rounds_halves_up_and_saturates() -> None:
    # The scale of the input is 1, of the result 2: products of 0.5 with one weight of 127/127.
    model = allo.quantize(
        nn.Sequential(nn.Linear(1, 1, bias=False), nn.Sigmoid()), [torch.tensor([[127.0]])]
    )
    op = next(op for op in model.graph.operators if op.target == "quantized.linear")
    multiplier, shift = int(model.graph.weights["linear_multiplier"][1][0]), op.args["shift"]
    assert 1 << 22 <= multiplier < 1 << 23
    x = np.arange(-200, 200, dtype=np.float32).reshape(-1, 1)
    weight = int(model.graph.weights["linear_weight"][1][0, 0])
    levels = np.clip(np.rint(x), -128, 127).astype(np.int64) * weight
    wanted = np.clip((levels * multiplier + (1 << (shift - 1))) >> shift, -128, 127)
    table = model.graph.constants["sigmoid_table"]
    scale = np.float32(next(o.args["scale"] for o in model.graph.operators if "scale" in o.args))
    for value, level in zip(x, wanted, strict=True):
        expected = np.float32(table[level + 128]) * scale
        np.testing.assert_array_equal(model.reference(value.reshape(1, 1)), expected.reshape(1, 1))


def test_multipliers_have_one_shift() -> None:
    ratios = np.array([0.75, 0.001, -0.01])
    factors, shift = multipliers(ratios, 1 << 20)
    assert factors.max() < 1 << 23
    np.testing.assert_allclose(factors / 2.0**shift, ratios, rtol=1e-4)


def test_groups_of_weights_have_factors() -> None:
    weight = tensor(3, 300).numpy()
    weight[:, 128:256] *= 20
    rows = quantize_rows(weight, SCHEMES["w4a8"], np.zeros(3))
    assert rows.factors is not None and rows.factors.shape == (3, 3) and rows.size == 128
    assert np.abs(rows.rows).max() == 7 and rows.factors[:, 1].min() >= 250
    error = np.abs(rows.effective() * rows.scale[:, None] - weight)
    assert error[:, :128].max() < 1.0 < error[:, 128:256].max() < 15
    single = quantize_rows(weight, SCHEMES["w8a8"], np.zeros(3))
    np.testing.assert_allclose(np.abs(weight).max(1) / 127, single.scale)
    assert np.abs(single.rows * single.scale[:, None] - weight).max() <= single.scale.max() / 2


@pytest.mark.parametrize("name", ["bert", "gpt", "llama", "grouped", "Gpt"])
def test_rewriting_and_migrating_change_nothing_but_rounding(name: str) -> None:
    make, sample = MODELS[name]
    model, x = initialised(make()), sample(3)
    graph = export_model(model, [x], KNOWN)
    fold_fixed(torch, graph)
    rewrite(graph)
    peaks = Peaks(list(migrated_norms(graph)))
    assert len(list(migrated_norms(graph))) == {"gpt": 2, "llama": 2, "Gpt": 5}.get(name, 0)
    peaks.see(FloatModel(torch, graph).values([x]))
    migrate(graph, peaks)
    with torch.no_grad():
        wanted = model(x).numpy()
    np.testing.assert_allclose(
        FloatModel(torch, graph).outputs([x])[0], wanted, rtol=2e-4, atol=2e-4
    )


def test_migration_helps_where_one_channel_is_large() -> None:
    class Outlier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.fc = nn.LayerNorm(16), nn.Linear(16, 16)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.fc(self.norm(x))

    model = initialised(Outlier())
    model.norm.weight.data[3] = 100.0
    calibration = [tensor(4, 16, seed=k) for k in range(4)]
    smooth = allo.quantize(model, calibration).table(calibration).rows[1].signal_to_noise_db
    model.norm.weight = (
        None  # nothing to migrate into, and the factors go where they cannot be seen
    )
    plain = nn.Sequential(nn.Linear(16, 16), model.fc)
    plain[0].weight.data = torch.eye(16) * torch.where(torch.arange(16) == 3, 100.0, 1.0)
    hard = allo.quantize(plain, calibration).table(calibration).rows[1].signal_to_noise_db
    assert smooth > hard


def test_the_table_says_json_first() -> None:
    model, calibration = quantised("mlp")
    labels = np.concatenate([model.reference(x).argmax(-1) for x in calibration])
    table = model.table(calibration, labels)
    figures = json.loads(table.to_json())
    assert figures["samples"] == 4 and [row["name"] for row in figures["rows"]] == [
        "float32",
        "w8a8",
    ]
    assert (
        figures["rows"][1]["accuracy"] == 1.0 and figures["rows"][0]["signal_to_noise_db"] is None
    )
    assert "signal to noise" in str(table) and "100.00%" in str(table)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: allo.quantize(m, []), "The calibration is empty."),
        (lambda m: allo.quantize(m, torch.zeros(0, 8)), "The calibration is empty."),
        (
            lambda m: allo.quantize(m, [tensor(2, 8)], "w2a2"),
            "There is no quantisation scheme 'w2a2'.",
        ),
        (
            lambda m: allo.quantize(m, [tensor(2, 8), tensor(3, 8)]),
            "Item 1 of the calibration has inputs of 3×8 float32, and item 0 of 2×8 float32.",
        ),
        (
            lambda m: allo.quantize(m, [tensor(2, 7)]),
            "Module '0' cannot be exported by torch.export with these example inputs.",
        ),
        (lambda m: allo.quantize(m, [3.5]), "Item 0 of the calibration holds a float"),
        (lambda m: allo.quantize(m, 3), "The calibration is of type int, and no list of inputs."),
        (
            lambda m: from_pytorch(allo.quantize(m, [tensor(2, 8)]), [tensor(1, 8)]),
            "The inputs have the shapes 1×8, and the model was quantised for 2×8.",
        ),
        (
            lambda m: from_pytorch(
                allo.quantize(m, [tensor(2, 8)]),
                [tensor(2, 8)],
                op_dtypes={"default": allo.ir.types.float16},
            ),
            "op_dtypes cannot be given for a quantised model.",
        ),
        (
            lambda m: allo.quantize(m, [tensor(2, 8)]).table([tensor(2, 8)], [1]),
            "There are 1 labels for 2 results.",
        ),
        (
            lambda m: allo.quantize(m.double(), [tensor(2, 8).double()]),
            "Module '0' computes in float64, and float32 models are quantised.",
        ),
    ],
)
def test_what_is_refused(call, message: str) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        call(initialised(MODELS["mlp"][0]()))


def test_an_operator_that_cannot_be_quantised_is_named_with_its_line() -> None:
    class Inner(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cumsum(x, 1)

    with pytest.raises(UnsupportedOperatorError) as refused:
        allo.quantize(nn.Sequential(nn.Linear(8, 4), Inner()), [tensor(2, 8)])
    text = str(refused.value)
    assert "Module '1' uses aten.cumsum.default, which cannot be quantised." in text
    assert "test_quantize.py:" in text and "return torch.cumsum(x, 1)" in text


def test_schedules_are_verified_against_the_reference() -> None:
    model, calibration = quantised("gpt")
    s = from_pytorch(model, [calibration[0]], target="mlir", verify=True)
    s["mlp.0"].pipeline("k1")
    s["attn.*"].pipeline("k1")
    rtl = s.build(target="verilog", simulator="jit")
    assert rtl.report.cycles < model.customize().build(target="verilog").report.cycles
    assert_equal_bits(
        arrays(rtl(*arrays(calibration[:1]))), arrays(model.reference(*calibration[:1]))
    )
