"""The models of ``scripts/demo torch``: schedules keep the bits and save cycles."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import allo
from allo.designs.torch.digits import Attention, Perceptron, ResidualNetwork
from allo.designs.torch.lenet import LeNet, compiled, schedule, schedule_integers
from allo.ir.types import Fixed
from tests.figures_plugin import Held
from tests.torch.support import (
    arrays,
    assert_close,
    assert_equal_bits,
    check_hardware,
    initialised,
    tensor,
)

IMAGE = tensor(1, 1, 8, 8)


def test_the_schedule_keeps_the_bits_and_saves_cycles(figures: Held) -> None:
    model = initialised(LeNet())
    plain, imported = compiled(model, library=False), compiled(model)
    pipelined = schedule(compiled(model))
    assert_close(plain.build()(IMAGE.numpy()), model(IMAGE), tolerance=1e-3)
    first, second = imported.build()(IMAGE.numpy()), pipelined.build()(IMAGE.numpy())
    np.testing.assert_array_equal(first, second)
    figures.hold("torch.lenet.plain.cycles", check_hardware(plain, IMAGE).cycles)
    figures.hold("torch.lenet.imported.cycles", check_hardware(imported, IMAGE).cycles)
    figures.hold("torch.lenet.pipelined.cycles", check_hardware(pipelined, IMAGE).cycles)


def test_fixed_point_takes_fewer_cycles(figures: Held) -> None:
    torch.manual_seed(0)
    model = LeNet().eval()
    s = schedule(compiled(model, {"default": Fixed(20, 10)}))
    got = np.asarray(s.build()(IMAGE.numpy()), np.float32)
    np.testing.assert_allclose(got, arrays(model(IMAGE))[0], atol=0.05)
    figures.hold("torch.lenet.fixed.cycles", check_hardware(s, IMAGE).cycles)


@pytest.mark.parametrize("scheme", ["w8a8", "w4a8"])
def test_integers_run_a_row_at_once(scheme: str, figures: Held) -> None:
    calibration = [tensor(1, 1, 8, 8, seed=k) for k in range(4)]
    quantised = allo.quantize(initialised(LeNet()), calibration, scheme)
    rtl = check_hardware(schedule_integers(quantised.customize()), IMAGE)
    figures.hold(f"torch.lenet.{scheme}.cycles", rtl.cycles)
    for image in calibration:
        assert_equal_bits(arrays(rtl(image.numpy())), arrays(quantised.reference(image)))


@pytest.mark.parametrize("make", [Perceptron, ResidualNetwork, Attention])
def test_other_models_of_digits(make: type[torch.nn.Module]) -> None:
    model = initialised(make())
    calibration = [tensor(1, 1, 8, 8, seed=k) for k in range(4)]
    quantised = allo.quantize(model, calibration)
    s = quantised.customize()
    s["**"].pipeline()
    assert_equal_bits(arrays(s.build()(IMAGE.numpy())), arrays(quantised.reference(IMAGE)))
    assert quantised.table(calibration).rows[1].signal_to_noise_db > 25
