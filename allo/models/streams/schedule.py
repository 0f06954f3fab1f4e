"""``StreamSchedule``: the schedule of a network whose layers are processes, joined by streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from allo.dialects.diagnostics import ModelError, OptionError
from allo.frontend.build import build_module
from allo.schedule.schedule import Schedule

from ..graph import Model
from ..origin import EachSample, Origin, each_sample
from ..places import place_of_caller
from ..schedule import check_latency
from .outside import Outside, Packing, packings
from .reading import LIBRARY, Reading

CLOCK_MHZ = 100.0
"""For which foldings are chosen where nothing else is said."""
RESOURCES = {"dsp": 220, "lut": 53_200, "bram": 280}
"""Of the board of most published rates (a Zynq-7020), where nothing else is said."""


class StreamSchedule(Schedule):
    """A network whose layers have processes of their own, all at work at once on images one behind the other.

    Attributes:
        origin: what the results are compared with, on example inputs.
        layers: the layers, in order.
        folds: the folding of each, by its name.
        image_shape: of an image as it lies.
        result_shape: of a result.
        clock_mhz: for which the foldings are chosen.
        weight_data: the weights that come from outside, as the file has them.
    """

    clock_mhz = CLOCK_MHZ

    def __init__(self, kernel: Any, origin: Origin, reading: Reading, folds: Mapping[str, Any]):
        super().__init__(kernel)
        self.origin, self.layers, self.folds = origin, reading.layers, dict(folds)
        self.image_shape, self.result_shape = reading.array_shape, reading.result
        self._dtype, self._packings = reading.dtype, packings(reading, self.folds)
        self.weight_data = [packing.given.array for packing in self._packings]
        self._image = reading.image[0], prod(reading.image[1])

    @property
    def latency_cycles(self) -> int:
        """From the first element of an image that comes alone to the last one of its result, foretold."""
        found = import_module(LIBRARY).latency(self.layers, self._image, self.folds)
        return int(found)

    @property
    def latency_ns(self) -> float:
        """The same in nanoseconds, at the clock for which the foldings are chosen."""
        return self.latency_cycles * 1000 / self.clock_mhz

    def build(self, target: str | None = None, *args: Any, **options: Any) -> Any:
        """As ``Schedule.build``; what is built takes images and returns the results."""
        built = super().build(target, *args, **options)
        if not callable(built):
            return built
        samples = self.origin.count if isinstance(self.origin, EachSample) else 1
        shapes = self.image_shape, self.result_shape
        return StreamedNetwork(built, samples, shapes, self._dtype, self._packings)


class StreamedNetwork:
    """A built network, called with images: ``module(images)`` returns its results.

    Attributes:
        module: what ``Schedule.build`` gave.
        weight_data: the weights that come from outside, as the file has them.
    """

    def __init__(
        self,
        module: Any,
        samples: int,
        shapes: tuple[tuple[int, ...], tuple[int, ...]],
        dtype: str,
        packings: Sequence[Packing],
    ) -> None:
        self.module, self._samples, self._dtype = module, samples, dtype
        (self._image, self._result), self._packings = shapes, packings
        self.weight_data = [packing.given.array for packing in packings]

    def __call__(self, images: Any, *weights: Any, **options: Any) -> Any:
        """The results of images, ``[samples, …]`` as the network has them.

        Args:
            images: these.
            weights: those that come from outside, in the order of ``weight_data``; left out, those of the
                file.
            options: of the module.

        Raises:
            OptionError: other weights than come from outside.
        """
        weights = weights or tuple(self.weight_data)
        if len(weights) != len(self._packings):
            paths = ", ".join(packing.given.path for packing in self._packings) or "none"
            raise OptionError(
                f"The network was given {len(weights)} arrays of weights behind its images, and takes: "
                f"{paths}.",
                help="give them in this order, or none for those of the file, module.weight_data.",
            )
        library = import_module(LIBRARY)
        packed = [
            packing(library, array) for packing, array in zip(self._packings, weights, strict=True)
        ]
        given = np.asarray(images)
        flat = np.zeros((self._samples, int(np.prod(self._result))), self._dtype)
        self.module(given.reshape(self._samples, *self._image), *packed, flat, **options)
        return flat.reshape(self._samples, *self._result)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)


@dataclass(frozen=True, slots=True)
class Streams:
    """How a network is put on streams.

    Attributes:
        samples: images of a call.
        target_fps: images a second; None for the foldings that take the least.
        clock_mhz: for which they are chosen.
        resources: that there are.
        target_latency_ns: from the first element of an image that comes alone to the last one of its result.
        outside: which weights come from outside.
    """

    samples: int = 1
    target_fps: float | None = None
    clock_mhz: float = CLOCK_MHZ
    resources: Mapping[str, int] | None = None
    target_latency_ns: float | None = None
    outside: Outside = field(default_factory=Outside)


def check_options(streams: bool, beside: Mapping[str, object], only: Mapping[str, object]) -> None:
    """Refuse options that do not go with ``streams``, or only with it.

    Args:
        streams: whether layers are on streams.
        beside: options of layers on arrays, by name; those that are not given are false.
        only: options of layers on streams, likewise.

    Raises:
        OptionError: one of the other kind is given.
    """
    given = [name for name, value in (beside if streams else only).items() if value]
    if not given:
        return
    if streams:
        raise OptionError(
            f"{given[0]} does not go with streams=True.",
            place_of_caller(),
            help="leave it out: layers on streams have an order of weights of their own, and build compares "
            "nothing.",
        )
    raise OptionError(
        f"{given[0]} is for layers on streams.", place_of_caller(), help="give streams=True, too."
    )


def streamed(model: Model, origin: Origin, asked: Streams) -> StreamSchedule:
    """The schedule of a graph whose layers are processes.

    Raises:
        UnsupportedOperatorError: an operator that no streaming layer is for.
        OptionError: a target that no folding meets; the layer that sets the bound is named.
        ModelError: a target that is no rate or no latency.
    """
    library = import_module(LIBRARY)
    _check_targets(asked)
    origin = each_sample(origin, asked.samples)
    asked.outside.storage.check([path for path, _ in model.weights.values()])
    reading = Reading(model, asked.outside)
    target = library.Target(
        asked.target_fps or 1e-9,
        asked.clock_mhz,
        asked.resources or RESOURCES,
        asked.target_latency_ns,
    )
    image = reading.image[0], prod(reading.image[1])
    folds = library.choose(reading.layers, target, image)
    made = library.assemble(
        "network",
        reading.layers,
        reading.image,
        folds,
        asked.samples,
        reading.end,
        element=reading.element,
        channels_first=reading.channels_first,
    )
    schedule = StreamSchedule(build_module(made.region()), origin, reading, folds)
    schedule.clock_mhz = asked.clock_mhz
    made.apply(schedule)
    return schedule


def _check_targets(asked: Streams) -> None:
    """Refuse a rate or a latency that is none."""
    if asked.target_fps is not None and not asked.target_fps > 0:
        raise ModelError(
            f"target_fps is {asked.target_fps!r}, and no rate.",
            place_of_caller(),
            help="give images a second, such as target_fps=1000.",
        )
    check_latency(asked.target_latency_ns)
