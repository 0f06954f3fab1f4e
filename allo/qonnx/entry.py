"""``from_qonnx``: a QONNX file as a schedule, or built for a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from allo.dialects.diagnostics import ModelError
from allo.models.compiled import built_for, schedule_of
from allo.models.graph import Model
from allo.models.integers.embedded import tabulate_neurons
from allo.models.integers.latency import embedded
from allo.models.integers.neurons import TABLES, with_neurons
from allo.models.integers.reference import Reference
from allo.models.integers.results import with_integer_results
from allo.models.origin import ReferenceOrigin
from allo.models.schedule import ModelSchedule
from allo.models.storage.choices import Storage
from allo.models.streams.outside import outside_of
from allo.models.streams.schedule import CLOCK_MHZ, Streams, check_options, streamed
from allo.models.types import Types

from .convert import Builder, Converter
from .inputs import InputType, define_input, examples, wanted
from .nodes.convolutions import conv, im2col
from .nodes.floats import in_floats, softmax
from .nodes.moves import RESHAPES, depth_to_space, reshape, resize, transpose
from .nodes.parts import expand, gather, slices, split, tile
from .nodes.pools import average_pool, global_average, global_max, max_pool, quant_average
from .nodes.products import gemm, matmul, xnor
from .nodes.reductions import REDUCTIONS, layer_norm, place_of_extreme, reduction
from .nodes.sums import concat, pad, pair
from .nodes.transposed import conv_transpose
from .reading import Array, Graph, read

BUILDERS: dict[str, Builder] = {
    "MatMul": matmul,
    "Gemm": gemm,
    "XnorPopcountMatMul": xnor,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "Im2Col": im2col,
    "MaxPool": max_pool,
    "GlobalMaxPool": global_max,
    "AveragePool": average_pool,
    "GlobalAveragePool": global_average,
    "QuantAvgPool2d": quant_average,
    "Concat": concat,
    "Pad": pad,
    "Transpose": transpose,
    "DepthToSpace": depth_to_space,
    "Resize": resize,
    "Upsample": resize,
    "Slice": slices,
    "Split": split,
    "Gather": gather,
    "Expand": expand,
    "Tile": tile,
    **dict.fromkeys(("Softmax", "LogSoftmax"), softmax),
    **dict.fromkeys(("ArgMax", "ArgMin"), place_of_extreme),
    "LayerNormalization": layer_norm,
    **dict.fromkeys(REDUCTIONS, reduction),
    **dict.fromkeys(RESHAPES, reshape),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Max", "Min"), pair),
}


def from_qonnx(
    model: Any,
    *,
    input_type: InputType | None = None,
    accept_error: float = 0.0,
    target: str = "llvm",
    mode: str = "csim",
    project: str = "top.prj",
    weights_as_args: bool | Sequence[str] = False,
    layouts: Mapping[str, Sequence[int]] | None = None,
    samples: int | None = None,
    tables: str = "never",
    weights: str = "stored",
    results: str = "float",
    streams: bool = False,
    target_fps: float | None = None,
    target_latency_ns: float | None = None,
    clock_mhz: float = CLOCK_MHZ,
    resources: Mapping[str, int] | None = None,
    verify: bool | float = False,
    verbose: bool = False,
) -> Any:
    """Compile a quantised network from a QONNX file.

    Products of quantised tensors are sums of integers in exactly the bits that they need. What stands
    between a sum and the next quantiser becomes thresholds, found with the arithmetic of qonnx's executor.

    Args:
        model: the path of a file, an ``onnx.ModelProto`` or a ``qonnx`` ``ModelWrapper``.
        input_type: the type of the inputs, which are float32 where it is left out: a ``Fixed`` or
            ``UFixed``, or an integer type and the value of its unit, as in ``(int8, 1 / 128)``.
        accept_error: how wrong a sum of two tensors may be whose scales have no exact ratio, in units of
            its second operand; 0 refuses such sums.
        target: ``"mlir"`` for the schedule, whose module paths are the names of the nodes, ``"llvm"`` for a
            function on NumPy arrays, or another target of ``Schedule.build``.
        mode: step of an HLS target.
        project: folder of an HLS target.
        weights_as_args: weights and thresholds are arguments behind the inputs, and not constants; or
            patterns of the paths of those that are.
        layouts: for patterns of paths of weights, the order in which their dimensions are stored.
        samples: a call takes so many samples, ``[samples, …]``, one after the other in the loop
            ``samples``. ``s.dataflow`` of that loop lets layers work side by side, each on another sample.
        tables: whether layers whose neurons read few bits become lookup tables, on every target: ``"auto"``
            where they read at most 12 bits and tables are fewer than those of their sums, ``"always"`` up to
            16 bits, ``"never"``.
        weights: ``"stored"`` in arrays, or ``"embedded"`` in logic: products become additions
            (``s.constant_multiply``), and the network is one pipeline over ``samples`` that takes a sample
            in each cycle. With ``streams``, ``"streamed"``: words of weights come anew for each vector of a
            layer, and none are kept; ``weights_as_args`` says of which layers.
        results: ``"float"``, or ``"integers"``: what the scale of a result multiplies. A softmax at the
            end, which keeps their order, is then left out.
        streams: layers are processes joined by streams, all at work at once on images one behind the
            other, from an ``input_type`` of integers. Of the options above, ``samples``, ``results``,
            ``weights_as_args`` and ``weights="streamed"`` go with it. The schedule has ``folds``.
        target_fps: of layers on streams, how many images a second their foldings shall reach.
        target_latency_ns: of layers on streams, from the first element of an image that comes alone to the
            last one of its result. With ``weights="embedded"``, from a sample to its result: the schedule is
            that of the smallest network which meets it, and has ``latency``, whose ``clock_mhz`` is the
            highest clock with which it does.
        clock_mhz: for which the foldings are chosen.
        resources: of which they may take, ``"dsp"``, ``"lut"`` and ``"bram"`` (18 kbit).
        verify: compare with the exact reference on one random input now, and after each step of the
            schedule; a number is the tolerance of floats.
        verbose: print the kernels and the core IR.

    Raises:
        ToolMissingError: ``qonnx`` is not installed; the extra ``qonnx`` brings it.
        ModelError: no such file, a shape that depends on the input, or a quantiser that cannot be exact.
        UnsupportedOperatorError: a node that is not supported, or not in this form.
        OptionError: a target that no folding of a layer meets.
    """
    _check(tables, weights, results, bool(weights_as_args))
    beside = {
        "layouts": layouts,
        "verify": verify,
        'weights="embedded"': weights == "embedded",
        'tables="always"': tables == "always",
    }
    only = {
        "target_fps": target_fps,
        "resources": resources,
        'weights="streamed"': weights == "streamed",
    }
    if weights != "embedded":
        only["target_latency_ns"] = target_latency_ns
    check_options(streams, beside, only)
    graph, _ = read(model)
    made = converted(graph, input_type, accept_error).made
    if results == "integers":
        made = with_integer_results(made)
    if tables != "never" or weights == "embedded":
        made = with_neurons(made, tables, rounded=weights == "embedded")
    types = Types(wanted(input_type), set())
    storage = Storage(weights_as_args, layouts or {})
    kinds = {node.path: node.op for node in graph.nodes}
    origin = ReferenceOrigin(
        made,
        reference_of(made),
        examples(made, input_type),
        kinds,
        "the reference of the QONNX file",
    )
    if streams:
        outside = outside_of(weights_as_args, weights)
        asked = Streams(samples or 1, target_fps, clock_mhz, resources, target_latency_ns, outside)
        streaming = streamed(made, origin, asked)
        return streaming if target == "mlir" else streaming.build(target)

    def make() -> ModelSchedule:
        return schedule_of(made, origin, types, storage, samples)

    if weights == "embedded":
        schedule = embedded(make, made, target_latency_ns)
    else:
        schedule = make()
        if tables != "never" and not storage.any_arguments:
            tabulate_neurons(schedule)
    return built_for(
        schedule,
        len(made.inputs),
        target=target,
        mode=mode,
        project=project,
        weights_as_args=bool(weights_as_args),
        verbose=verbose,
        verify=verify,
    )


def _check(tables: str, weights: str, results: str, as_arguments: bool) -> None:
    """Refuse ways that there are not."""
    if tables not in TABLES:
        raise ModelError(
            f"tables={tables!r} is no way to choose the layers that become lookup tables.",
            help=f'it is {", ".join(map(repr, TABLES))}; "auto" compares their cost with that of sums.',
        )
    for key, value, known in (
        ("weights", weights, ("stored", "embedded", "streamed")),
        ("results", results, ("float", "integers")),
    ):
        if value not in known:
            raise ModelError(
                f"{key}={value!r} is unknown.", help=f"it is {' or '.join(map(repr, known))}."
            )
    if weights == "embedded" and as_arguments:
        raise ModelError(
            "Weights that are arguments are not known when the logic is made.",
            help='leave out weights_as_args, or weights="embedded".',
        )


def converted(
    graph: Graph, input_type: InputType | None = None, accept_error: float = 0.0
) -> Converter:
    """The graph of levels of a file that was read, and what its tensors became."""
    converter = Converter(graph, BUILDERS, accept_error)
    for name, shape in graph.inputs.items():
        define_input(converter, name, shape, input_type)
    converter.run()
    return converter


def reference_of(made: Model) -> Callable[..., list[Array]]:
    """The exact results of a graph of levels, in NumPy."""

    reference = Reference(made, in_floats)
    return lambda *inputs: reference(*inputs)
