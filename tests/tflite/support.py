"""Compare the reference with the interpreter, kernels with both, and hardware with the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from allo.frontend import from_tflite
from allo.tflite.entry import example_inputs
from allo.tflite.network import Network
from allo.tflite.reader import read_network
from allo.tflite.reference import Integers
from tests.tflite.writer import interpreter, run

Arrays = list[np.ndarray]
_BESIDE = [folder / "shared/networks/tflite" for folder in Path(__file__).parents[3:]]
SHARED = next((folder for folder in _BESIDE if folder.is_dir()), _BESIDE[0])


def structured(network: Network) -> list[Arrays]:
    """Zeros, both extremes, a ramp, and a ramp that steps by much."""
    found: list[Arrays] = []
    for make in (
        lambda low, high, n: np.zeros(n),
        lambda low, high, n: np.full(n, low),
        lambda low, high, n: np.full(n, high),
        lambda low, high, n: low + np.arange(n) % (high - low + 1),
        lambda low, high, n: low + np.arange(n) * 101 % (high - low + 1),
    ):
        arrays = []
        for index in network.inputs:
            info = network.tensors[index]
            low, high = info.bounds if info.dtype.startswith("int") else (-4, 4)
            size = int(np.prod(info.shape))
            arrays.append(make(low, high, size).reshape(info.shape).astype(info.dtype))
        found.append(arrays)
    return found


def inputs_of(network: Network, count: int) -> list[Arrays]:
    """Random inputs, and the structured ones."""
    return [example_inputs(network, seed) for seed in range(count)] + structured(network)


def tensors_equal(model: bytes, network: Network, calls: Sequence[Arrays]) -> list[dict[int, Any]]:
    """Compare every tensor of the reference with the interpreter; the tensors."""
    made, reference = interpreter(model), Integers(network)
    found = []
    for inputs in calls:
        run(made, inputs)
        values = reference.tensors(*inputs)
        for node in network.nodes:
            for index in node.outputs:
                np.testing.assert_array_equal(
                    values[index], made.get_tensor(index), err_msg=f"{node.path} {index}"
                )
        found.append(values)
    return found


def check(model: bytes, count: int = 3, **options: Any) -> Any:
    """Reference and CPU build against the interpreter, on every tensor and every result; the schedule."""
    network = read_network(model)
    calls = inputs_of(network, count)
    expected = tensors_equal(model, network, calls)
    s = from_tflite(model, target="mlir", **options)
    built = s.build()
    for inputs, values in zip(calls, expected, strict=True):
        got = built(*inputs, *s.weight_data)
        results = got if isinstance(got, (list, tuple)) else [got]
        for index, result in zip(network.outputs, results, strict=True):
            np.testing.assert_array_equal(result, values[index].reshape(np.shape(result)))
    return s


def check_hardware(s: Any, calls: Sequence[Arrays]) -> Any:
    """The CPU's bits in the in-process engine; the module."""
    built = s.build()
    rtl = s.build(target="verilog", simulator="jit")
    for inputs in calls:
        got, wanted = rtl(*inputs, *s.weight_data), built(*inputs, *s.weight_data)
        np.testing.assert_array_equal(got, wanted)
    return rtl
