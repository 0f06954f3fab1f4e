"""``from_trees``: an ensemble of decision trees as a schedule, or built for a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from allo.dialects.diagnostics import ModelError, OptionError
from allo.dialects.text.shown import shown
from allo.dialects.types import Int, UInt
from allo.models.compiled import built_for, schedule_of
from allo.models.graph import Meta, Model, ModuleCall, Operator, Ref
from allo.models.integers.embedded import embed
from allo.models.integers.reference import Reference
from allo.models.integers.trees import SUMS, ends_of, narrowest
from allo.models.origin import ReferenceOrigin
from allo.models.schedule import ModelSchedule
from allo.models.storage.choices import Storage
from allo.models.types import Types

from ..inputs import examples
from ..packages import load
from ..reading import Array
from .reading import Ensemble, opened, quantised, read_ensemble

InputType = Int | UInt | tuple[Int | UInt, float]
_FINEST = 24
"""Binary places of a step that is found, at most."""
_BITS = 8


def from_trees(
    model: Any,
    *,
    input_type: InputType | None = None,
    step: float | None = None,
    accept_error: float = 0.0,
    target: str = "llvm",
    mode: str = "csim",
    project: str = "top.prj",
    samples: int | None = None,
    verify: bool | float = False,
    verbose: bool = False,
) -> Any:
    """Compile gradient-boosted trees or a random forest from an ONNX-ML file, as skl2onnx writes it.

    Each comparison of an element with a constant is one bit, each tree a choice of its leaves by these bits,
    and a result the sum of its trees: integers that count steps, before the file's ``post_transform``, which
    keeps their order. Two classes with one score have the results 0 and what is above 0 where the second
    class is meant.

    Args:
        model: the path of a file, or an ``onnx.ModelProto``.
        input_type: the type of the inputs, which are float32 where it is left out: an integer type, or one
            and the value of its unit, as in ``(uint8, 1 / 16)``. Comparisons are exact in both cases.
        step: of the leaves and of the results. Where it is left out, leaves have to be multiples of a power
            of two.
        accept_error: by how much a result may differ from that of the file; 0 refuses leaves that are no
            multiples of the step.
        target: ``"mlir"`` for the schedule, ``"llvm"`` for a function on NumPy arrays, or another target of
            ``Schedule.build``.
        mode: step of an HLS target.
        project: folder of an HLS target.
        samples: a call takes so many samples, ``[samples, 1, features]``, and the ensemble is one pipeline
            that takes one of them in each cycle.
        verify: compare with the trees followed in NumPy on one random input now, and after each step of the
            schedule.
        verbose: print the kernel and the core IR.

    Raises:
        ToolMissingError: ``onnx`` is not installed; the extra ``qonnx`` brings it.
        ModelError: no such file, or leaves that the step does not keep.
        UnsupportedOperatorError: a node that is not supported, or not in this form.
    """
    found = read_ensemble(model)
    made = graph_of(found, opened(model), input_type, step, accept_error)
    reference = Reference(made)
    origin = ReferenceOrigin(
        made,
        lambda *inputs: reference(*inputs),
        examples(made, None),
        {found.name: found.kind},
        "the trees of the file",
    )
    schedule: ModelSchedule = schedule_of(
        made, origin, Types(None, set()), Storage(False, {}), samples
    )
    if samples is not None:
        embed(schedule, made)
    return built_for(
        schedule,
        1,
        target=target,
        mode=mode,
        project=project,
        weights_as_args=False,
        verbose=verbose,
        verify=verify,
    )


def from_trees_for_trial(model: Any, options: Mapping[str, Any]) -> Any:
    """The schedule that ``allo network`` tries: leaves have eight bits, whatever that rounds.

    Raises:
        OptionError: layers on streams are asked for.
    """
    if options.get("streams"):
        raise OptionError(
            "streams is for networks of layers, and the file holds an ensemble of trees.",
            help="leave it out: an ensemble is one pipeline.",
        )
    step = coarse_step(read_ensemble(model))
    given = options.get("samples")
    return from_trees(model, step=step, accept_error=float("inf"), samples=given, target="mlir")


def graph_of(
    found: Ensemble, proto: Any, input_type: Any, step: float | None, accept_error: float
) -> Model:
    """The ensemble as a graph of one operator.

    Raises:
        ModelError: leaves that the step does not keep, or an input that is no vector.
    """
    dtype, bounds, unit = _input(input_type)
    size, error = _step(found, step), 0.0
    if size is not None:
        error = largest_error(found, size)
    if size is None or error > accept_error:
        tried = size or coarse_step(found)
        raise ModelError(
            f"The leaves of {found.name!r} are no multiples of "
            f"{f'the step {size:g}' if size is not None else 'a power of two'}: with steps of {tried:g} a "
            f"result differs by up to {largest_error(found, tried):.3g}.",
            help=f"accept that by step={tried:g}, accept_error={largest_error(found, tried) * 1.01:.2g}, or "
            "give a smaller step.",
        )
    trees = tuple(
        tuple(quantised(tree, size, bounds, unit) for tree in of_result)
        for of_result in found.trees
    )
    bases = tuple(round(base / size) for base in found.bases)
    ends = [
        [base + sum(ends_of(tree)[k] for tree in of_result) for k in range(2)]
        for base, of_result in zip(bases, trees, strict=True)
    ]
    kind = narrowest(min(e[0] for e in ends), max(e[1] for e in ends))
    made = Model()
    ((name, features),) = _inputs(proto, found)
    made.inputs[name] = Meta((1, features), dtype)
    call = ModuleCall(found.name, found.name, found.kind)
    args = {"self": Ref(name), "trees": trees, "bases": bases}
    meta = Meta((1, found.results), kind)
    made.operators.append(Operator("scores", SUMS, args, (meta,), (call,), None))
    made.outputs.append("scores")
    return made


def _inputs(proto: Any, found: Ensemble) -> list[tuple[str, int]]:
    """The name of the input, and its elements."""
    constants = {value.name for value in proto.graph.initializer}
    inputs = [value for value in proto.graph.input if value.name not in constants]
    if len(inputs) != 1:
        raise ModelError(
            f"The file has {len(inputs)} inputs, and an ensemble of trees reads one vector.",
            help="export it with one input of all features, such as FloatTensorType([None, 16]).",
        )
    dims = inputs[0].type.tensor_type.shape.dim
    extent = dims[-1].dim_value if len(dims) else 0
    return [(inputs[0].name, max(extent, found.features))]


def _input(given: Any) -> tuple[str, tuple[int, int] | None, float]:
    """The name of the input's type, its bounds where it is one of integers, and what 1 stands for."""
    if given is None:
        return "float32", None, 1.0
    kind, unit = given if isinstance(given, tuple) and len(given) == 2 else (given, 1.0)
    if not isinstance(kind, Int | UInt) or not 0 < float(unit) < float("inf"):
        raise ModelError(
            f"input_type is {shown(given)}, which gives no integers.",
            help="give an integer type such as uint8, or one with its unit: (uint8, 1 / 16).",
        )
    bits = kind.bits
    if isinstance(kind, UInt):
        return f"uint{bits}", (0, (1 << bits) - 1), float(unit)
    return f"int{bits}", (-(1 << (bits - 1)), (1 << (bits - 1)) - 1), float(unit)


def _leaves(found: Ensemble) -> Array:
    trees = [
        leaf for result in range(found.results) for tree in found.leaves(result) for leaf in tree
    ]
    return np.array([*trees, *found.bases], np.float64)


def _step(found: Ensemble, given: float | None) -> float | None:
    """The step that is wanted, or the greatest power of two that all leaves are multiples of."""
    if given is not None:
        if not 0 < given < float("inf"):
            raise ModelError(
                f"step is {given!r}, and no step.", help="give a number such as 1 / 16."
            )
        return float(given)
    leaves = _leaves(found)
    for places in range(-_FINEST, _FINEST + 1):
        scaled = leaves * 2.0**places
        if np.array_equal(scaled, np.rint(scaled)):
            return float(2.0**-places)
    return None


def coarse_step(found: Ensemble) -> float:
    """The least power of two with which the greatest leaf has eight bits."""
    most = max(float(np.abs(_leaves(found)).max()), 2.0**-_FINEST)
    return float(2.0 ** np.ceil(np.log2(most / (1 << (_BITS - 1)))))


def largest_error(found: Ensemble, step: float) -> float:
    """By how much a result may differ where leaves are rounded to multiples of a step."""

    def off(value: float) -> float:
        return abs(value - round(value / step) * step)

    each = [
        off(base) + sum(max(map(off, tree)) for tree in found.leaves(result))
        for result, base in enumerate(found.bases)
    ]
    return max(each, default=0.0)


def evaluator(model: Any, unit: float = 1.0) -> Callable[..., list[Array]]:
    """A function that runs the file in ONNX's reference evaluator: its scores, or the result of a regressor.

    Args:
        model: what :func:`from_trees` takes.
        unit: what an input of 1 stands for.
    """
    proto = opened(model)
    run = load("onnx.reference").ReferenceEvaluator(proto)
    (name,) = run.input_names

    def scores(*inputs: Array) -> list[Array]:
        given = (np.asarray(inputs[0], np.float64) * unit).astype(np.float32).reshape(1, -1)
        return [np.asarray(run.run(None, {name: given})[-1])]

    return scores
