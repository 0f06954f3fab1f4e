"""One instance of hardware for several modules, and FIFOs between modules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from allo.errors import IllegalTransformError, ScheduleError, UnknownHandleError
from allo.frontend import from_pytorch
from allo.library import nn as library
from tests.figures_plugin import Held
from tests.torch.support import arrays, check_csim, check_hardware, initialised, tensor

X = tensor(3, 6)


class Layer(nn.Module):
    """A residual layer."""

    def __init__(self, width: int = 6) -> None:
        super().__init__()
        self.up = nn.Linear(width, 8)
        self.act = nn.ReLU()
        self.down = nn.Linear(8, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(self.act(self.up(x)))


class Deep(nn.Module):
    """Four layers, the last of another class where it is asked."""

    def __init__(self, *more: nn.Module) -> None:
        super().__init__()
        self.layers = nn.Sequential(*[Layer() for _ in range(4)], *more)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def compiled(*more: nn.Module, **options: Any) -> Any:
    s = from_pytorch(initialised(Deep(*more)), [X], target="mlir", verify=True, **options)
    s["**"].pipeline()
    return s


def test_layers_share_one_instance_at_the_cost_of_no_cycle(tmp_path: Any) -> None:
    apart, s = compiled(), compiled()
    s["layers.*"].share()
    assert list(s.module_paths.values()) == [
        "layers.0.up",
        "layers.0.act",
        "layers.0.down",
        "layers.0",
        "layers",
        "",
    ]
    assert s["layers.3.down"].functions == ["layers_0_down"]
    assert s["layers.*.up"].functions == ["layers_0_up"]
    text = str(s.module)
    assert text.count("call @layers_0(") == 4
    assert "@g_layers_0_up_weight_layers : memref<4x8x6xf32>" in text
    before, after = check_hardware(apart, X), check_hardware(s, X)
    assert after.cycles == before.cycles
    assert after.report.resources["lut"] < 0.5 * before.report.resources["lut"]
    np.testing.assert_array_equal(apart.build()(*arrays([X])), s.build()(*arrays([X])))
    check_csim(s, tmp_path, X)


def test_several_instances_take_turns() -> None:
    s = compiled()
    s["layers.*"].unroll_layers(2)
    calls = [part.split("(")[0] for part in str(s.module).split("call @layers_")[1:]]
    assert [c for c in calls if len(c) == 1] == ["0", "1", "0", "1"]
    assert s["layers.3"].functions == ["layers_1"] and s["layers.2"].functions == ["layers_0"]
    check_hardware(s, X)


def test_modules_apart_in_the_model_share() -> None:
    s = compiled()
    s["layers.*.up"].share()
    assert s["**.up"].functions == ["layers_0_up"]
    s["**.up"].unroll("k1", 2)
    assert [row.became for row in s.explain("layers.2.up").rows] == [
        "kernel linear2d in layers_0_up",
        "a kernel of the library that fits, with its default schedule",
        "computed by function layers_0_up, which is that of layers.0.up too",
    ]
    check_hardware(s, X)


def test_weights_that_are_arguments_need_no_number() -> None:
    s = compiled(weights_as_args=True)
    s["layers.*"].share()
    head = str(s.module).split("func.func @layers_0(")[1].split(" attributes")[0]
    assert "index" not in head
    check_hardware(s, X)


def test_replaced_modules_share_too() -> None:
    s = compiled()
    s["layers.*.up"].replace(library.linear2d)
    s["layers.*"].share()
    with pytest.raises(ScheduleError, match="Function layers_0_up is shared by several modules"):
        s["layers.0.up"].replace(library.linear2d)
    check_hardware(s, X)


def test_modules_that_differ_are_named_with_the_place() -> None:
    s = compiled(nn.Sequential(nn.Linear(6, 6)))
    before = str(s.module)
    with pytest.raises(
        ScheduleError, match="Modules 'layers.0' and 'layers.4' are not alike: "
    ) as caught:
        s["layers.*"].share()
    assert "help: share modules of one class and shape, with the same schedule." in str(
        caught.value
    )
    assert str(s.module) == before
    s["layers.1.up"].unroll("k1", 2)
    with pytest.raises(ScheduleError, match="'layers.0' and 'layers.1' are not alike: affine.for"):
        s["layers.[01]"].share()


def test_one_module_has_nothing_to_share() -> None:
    s = compiled()
    with pytest.raises(
        ScheduleError, match="share takes several modules of the model, and 'layers.0' has one"
    ):
        s["layers.0"].share()
    with pytest.raises(ScheduleError, match="from 1 to 4, the number of modules, not 5"):
        s["layers.*"].unroll_layers(5)


# --- streams ------------------------------------------------------------------------------------


def test_modules_stream_to_each_other(tmp_path: Any, figures: Held) -> None:
    """In modules this small the FIFO saves nothing: a pipeline starts while the one before drains."""
    plain, s = compiled(), compiled()
    s["layers.*.up"].stream_to("act", depth=8)
    figures.hold("torch.gpt.shared.cycles", check_hardware(plain, X).cycles)
    figures.hold("torch.gpt.streamed.cycles", check_hardware(s, X).cycles)
    s["layers.*.act"].stream_to("layers.*.down", depth=8)
    check_hardware(s, X)
    assert "its result passes to layers.1.down through a FIFO" in str(s.explain("layers.1.act"))
    check_csim(s, tmp_path, X)


def test_a_stream_leads_to_a_module_that_reads_the_result() -> None:
    s = compiled()
    with pytest.raises(
        ScheduleError, match="'layers.0.down' does not read the result of module 'layers.0.up'"
    ):
        s["layers.*.up"].stream_to("down")
    with pytest.raises(
        UnknownHandleError, match="No module of the model matches 'layers.0.akt'"
    ) as caught:
        s["layers.*.up"].stream_to("akt")
    assert "did you mean 'layers.0.act'?" in str(caught.value)
    assert len(s.steps) == 1


def test_elements_that_are_read_twice_are_no_stream() -> None:
    class Normed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.norm = nn.Linear(6, 6), nn.LayerNorm(6)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.norm(self.fc(x))

    s = from_pytorch(initialised(Normed()), [X], target="mlir")
    with pytest.raises(IllegalTransformError, match="to fc_out: an element is read more than once"):
        s["fc"].stream_to("norm")
