"""``from_tflite``: a TFLite file as a schedule, or built for a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from allo.dialects.diagnostics import ModelError
from allo.models.compiled import built_for, schedule_of
from allo.models.integers.arithmetic import Array
from allo.models.origin import ReferenceOrigin
from allo.models.places import place_of_caller
from allo.models.storage.choices import Storage
from allo.models.streams.outside import outside_of
from allo.models.streams.schedule import CLOCK_MHZ, Streams, check_options, streamed
from allo.models.types import Types

from .convert import graph_of
from .network import Network
from .reader import read_network
from .reference import Integers
from .schedule import LANES, schedule_layers

JUDGE = "the integer reference"


def from_tflite(
    model: str | PathLike[str] | bytes | bytearray,
    *,
    target: str = "llvm",
    mode: str = "csim",
    project: str = "top.prj",
    weights_as_args: bool | Sequence[str] = False,
    weights: str = "stored",
    layouts: Mapping[str, Sequence[int]] | None = None,
    samples: int | None = None,
    lanes: int | None = None,
    streams: bool = False,
    target_fps: float | None = None,
    target_latency_ns: float | None = None,
    clock_mhz: float = CLOCK_MHZ,
    resources: Mapping[str, int] | None = None,
    verify: bool = False,
    verbose: bool = False,
) -> Any:
    """Compile a TFLite network of int8 or int16.

    Every tensor has the integers that TFLite's reference kernels give, bit for bit. Images stay as they
    lie, ``[batch, height, width, channel]``. Each operator becomes a function named after it and its
    number in the file: ``conv2d_3``.

    Args:
        model: the path of a ``.tflite`` file, or its bytes.
        target: ``"mlir"`` for the Schedule, ``"llvm"`` for a function on NumPy arrays, or another
            target of ``Schedule.build``.
        mode: step of an HLS target.
        project: folder of an HLS target.
        weights_as_args: weights are arguments behind the inputs, and not constants; the result then has
            ``weight_data``, and a built one appends it when it is called. A list of patterns of their
            paths, such as ``["conv2d_*.weight"]``, makes those arguments.
        weights: ``"stored"``, or with ``streams`` ``"streamed"``: words of weights come anew for each
            vector of a layer, and none are kept; ``weights_as_args`` says of which layers.
        layouts: for patterns of paths of weights, the order in which their dimensions are stored,
            such as ``{"conv2d_*.weight": (1, 2, 3, 0)}``.
        lanes: inner loops are pipelined, and each layer computes the sums of up to so many channels at once
            (the greatest divisor of its channels). None leaves loops as they are for ``"mlir"`` and
            ``"llvm"``, and is 8 for hardware.
        samples: a call takes so many samples, ``[samples, …]``, one after the other in the loop
            ``samples``. ``s.dataflow`` of that loop lets layers work side by side, each on another sample.
        streams: layers are processes joined by streams, all at work at once on images one behind the
            other. Of the options above, only ``samples`` goes with it. The schedule has ``folds``.
        target_fps: of layers on streams, how many images a second their foldings shall reach.
        target_latency_ns: of layers on streams, from the first element of an image that comes alone to the
            last one of its result.
        clock_mhz: for which the foldings are chosen.
        resources: of which they may take, ``"dsp"``, ``"lut"`` and ``"bram"`` (18 kbit).
        verify: compare with the integer reference on random inputs now, and after each step of the
            schedule.
        verbose: print the kernels and the core IR.

    Raises:
        ToolMissingError: the package ``tflite`` is not installed; the extra ``tflite`` brings it.
        ModelError: what is no TFLite file, or has dynamic shapes.
        UnsupportedOperatorError: an operator, or a form of one, that is not supported.
        OptionError: a target that no folding of a layer meets.
        StepError: raised by a step of a verified schedule that changes the result.
    """
    network = read_network(model)
    graph = graph_of(network, place_of_caller())
    origin = ReferenceOrigin(
        graph,
        Integers(network),
        example_inputs(network),
        {node.path: node.kind for node in network.nodes},
        JUDGE,
    )
    beside = {
        "layouts": layouts,
        "verify": verify,
        "lanes": lanes,
    }
    _check_weights(weights)
    only = {
        "target_fps": target_fps,
        "target_latency_ns": target_latency_ns,
        "resources": resources,
        'weights="streamed"': weights == "streamed",
    }
    check_options(streams, beside, only)
    if streams:
        outside = outside_of(weights_as_args, weights)
        asked = Streams(samples or 1, target_fps, clock_mhz, resources, target_latency_ns, outside)
        streaming = streamed(graph, origin, asked)
        return streaming if target == "mlir" else streaming.build(target)
    storage = Storage(weights_as_args, layouts or {})
    schedule = schedule_of(graph, origin, Types(None, ()), storage, samples)
    if lanes is None and target not in ("mlir", "llvm"):
        lanes = LANES
    if lanes is not None:
        _check_lanes(lanes)
        schedule_layers(schedule, network, lanes)
    return built_for(
        schedule,
        len(graph.inputs),
        target=target,
        mode=mode,
        project=project,
        weights_as_args=bool(weights_as_args),
        verbose=verbose,
        verify=verify,
    )


def _check_weights(weights: str) -> None:
    if weights not in ("stored", "streamed"):
        raise ModelError(
            f"weights={weights!r} is unknown.",
            help="it is 'stored' or, of layers on streams, 'streamed'.",
        )


def _check_lanes(lanes: int) -> None:
    if not isinstance(lanes, int) or isinstance(lanes, bool) or lanes < 1:
        raise ModelError(
            f"lanes is {lanes!r}, and no number of channels.",
            place_of_caller(),
            help=f"give a whole number of at least 1, such as lanes={LANES}.",
        )


def example_inputs(network: Network, seed: int = 0) -> list[Array]:
    """Random inputs of a network: integers of the whole range, floats that the integers stand for."""
    random = np.random.default_rng(seed)
    found: list[Array] = []
    for index in network.inputs:
        info = network.tensors[index]
        if info.dtype.startswith("float"):
            found.append(random.standard_normal(info.shape).astype(info.dtype))
        else:
            low, high = info.bounds
            found.append(random.integers(low, high + 1, info.shape).astype(info.dtype))
    return found
