"""From the graph of a model to its schedule, and to what is built of it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from allo.dialects._mlir import ir
from allo.dialects.core.locations import location_of, place_of
from allo.dialects.core.signature import functions_of
from allo.dialects.diagnostics import SourcePlace
from allo.dialects.options.groups import MODES, PROJECTS
from allo.frontend.kernel_module import KernelModule

from .generated import compile_text
from .graph import Model
from .lowering import TOP, Generated, lower_model
from .origin import Origin, each_sample
from .schedule import ModelSchedule
from .storage.choices import Storage
from .types import Types

PROJECT = "top.prj"
"""The folder of a project where importers are told none."""


class BuiltModel:
    """A built model whose weights are arguments: a call appends them to the inputs.

    Attributes:
        module: what ``build`` gave.
        weight_data: the arrays of the weights, in the order of the arguments.
    """

    def __init__(self, module: Any, weight_data: list[Any], inputs: int) -> None:
        self.module = module
        self.weight_data = weight_data
        self._inputs = inputs

    def __call__(self, *arrays: Any) -> Any:
        """Run the model on its inputs, and the arrays for results where a target takes those last."""
        count = self._inputs
        return self.module(*arrays[:count], *self.weight_data, *arrays[count:])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)


def schedule_of(
    model: Model, origin: Origin, types: Types, storage: Storage, samples: int | None = None
) -> ModelSchedule:
    """The schedule of a model.

    Args:
        model: the graph.
        origin: what the schedule is compared with where its steps are verified.
        types: the element types.
        storage: where weights are, and in which order their elements.
        samples: a call takes so many samples, in the loop ``samples``; None for one without a dimension of
            samples.

    Raises:
        UnsupportedOperatorError: an operator, or a form of one, that is not supported.
        ModelError: a weight that is not there, or a layout that does not fit one; no number of samples.
    """
    if samples is not None:
        origin = each_sample(origin, samples)
    generated = lower_model(model, types, storage, samples)
    return ModelSchedule(_compiled(generated), generated, model, origin)


def built_for(
    schedule: ModelSchedule,
    inputs: int,
    *,
    target: str,
    mode: str,
    project: str,
    weights_as_args: bool,
    verbose: bool,
    verify: bool | float,
) -> Any:
    """What an importer returns for a target, shown and verified where that is asked for.

    Args:
        schedule: of the model.
        inputs: how many arrays a call has beside those of the weights.
        target: ``"mlir"`` for the schedule itself, ``"llvm"`` for a function on NumPy arrays, or another
            target of ``Schedule.build``.
        mode: step of an HLS target.
        project: folder of an HLS target.
        weights_as_args: what is built takes the weights behind the inputs, and shall append them itself.
        verbose: print the kernels and the core IR.
        verify: compare with the model now, and after each step of the schedule; a number is the tolerance.

    Raises:
        ModelError: the design differs from the model.
    """
    if verbose:
        sys.stdout.write(f"{schedule.source}\n{schedule.module}\n")
    if verify:
        schedule.verify_steps(verify)
    if target == "mlir":
        return schedule
    if target == "llvm":
        built = schedule.build()
    elif schedule.latency is not None:
        built = schedule.build(target=target, clock_mhz=schedule.latency.clock_mhz)
    else:
        options: dict[str, Any] = {"mode": mode, "project": project} if target in MODES else {}
        if target in PROJECTS and project != PROJECT:  # hardware writes one where it is asked to
            options["project"] = project
        built = schedule.build(target=target, **options)
    if not weights_as_args:
        return built
    return BuiltModel(built, schedule.weight_data, inputs)


def _compiled(generated: Generated) -> KernelModule:
    """Compile the kernels; operations then have the places of the model's own lines."""
    text = "".join(f"{line}\n" for line, _ in generated.lines)
    kernel, file = compile_text(text, TOP, generated.namespace)
    places = {number + 1: place for number, (_, place) in enumerate(generated.lines)}
    with kernel.context:
        for function in functions_of(kernel.module).values():
            _relocate(function, file, places, {})
    return kernel


def _relocate(
    op: Any,
    file: str,
    places: Mapping[int, SourcePlace | None],
    made: dict[int, ir.Location],
) -> None:
    """Give an operation, and those in it, the line of the model that its line was made of."""
    written = place_of(op)
    line = written.line if written and written.file == file else 0
    place = places.get(line)
    if place is not None:
        if line not in made:
            made[line] = location_of(place)
        op.location = made[line]
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                _relocate(inner.operation, file, places, made)
