"""``from_brevitas``: a PyTorch module of Brevitas's layers, through Brevitas's own export to QONNX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from allo.dialects.diagnostics import ModelError, UnsupportedOperatorError
from allo.dialects.processes.extras import load_extra

from ..entry import from_qonnx


def from_brevitas(module: Any, example_inputs: Any, **options: Any) -> Any:
    """Compile a network that is written, or trained, in Brevitas.

    The module is exported by Brevitas to QONNX, in evaluation, and read by :func:`from_qonnx`. Its layers
    keep their names: ``s["features.0.Conv"].pipeline()``.

    Args:
        module: a ``torch.nn.Module`` with quantised layers of ``brevitas.nn``.
        example_inputs: a tensor, or a list of tensors, whose shapes the hardware will have.
        options: all keyword arguments of :func:`from_qonnx`.

    Raises:
        ToolMissingError: Brevitas is not installed; the extra ``brevitas`` brings it.
        ModelError: an object that is no module, without a quantiser, or that Brevitas cannot export.
        UnsupportedOperatorError: a layer or a quantiser that is not supported, or that Brevitas exports as
            another one than it computes.
    """
    return from_qonnx(exported(module, example_inputs), **options)


def exported(module: Any, example_inputs: Any) -> Any:
    """A module as an ``onnx.ModelProto`` of QONNX.

    Raises:
        ToolMissingError: Brevitas is not installed.
        ModelError: no module, one without a quantiser, or one that Brevitas cannot export.
        UnsupportedOperatorError: weights that Brevitas exports with another rounding.
    """
    export = _load("brevitas.export").export_qonnx
    torch = _load("torch")
    if not isinstance(module, torch.nn.Module):
        raise ModelError(
            f"A {type(module).__name__} is no PyTorch module.",
            help="give an instance of a torch.nn.Module that has layers of brevitas.nn.",
        )
    _check(module)
    given = example_inputs if isinstance(example_inputs, Sequence) else [example_inputs]
    if not given or not all(isinstance(x, torch.Tensor) for x in given):
        raise ModelError(
            "from_brevitas has no example inputs, or some that are no tensors.",
            help="give a tensor of the shape that one call takes: torch.randn(1, 3, 32, 32).",
        )
    try:
        return export(module, args=tuple(given), dynamo=False)
    except (AssertionError, AttributeError, RuntimeError, TypeError, ValueError) as error:
        why = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise ModelError(
            f"Brevitas cannot export this module to QONNX: {why.strip()}",
            help="brevitas.export.export_qonnx(module, args=x, dynamo=False) does the same; what it takes, "
            "and what export_qonnx writes to a file by other options, from_qonnx reads.",
        ) from error


def _check(module: Any) -> None:
    quantisers = {
        path: part
        for path, part in module.named_modules()
        if getattr(part, "is_quant_enabled", False) is True
    }
    if not quantisers:
        raise ModelError(
            "No layer of this module has a quantiser of Brevitas.",
            help="from_pytorch compiles models in float32, and quantize() makes integers of them.",
        )
    for path, part in quantisers.items():
        mode = getattr(part, "rounding_mode", "ROUND")
        if "WeightQuant" in type(part).__name__ and mode != "ROUND":
            raise UnsupportedOperatorError(
                f"Weights of {path.rpartition('.')[0]!r} are rounded by {mode}, and Brevitas's export to "
                "QONNX rounds all weights to the nearest: the file would compute something else.",
                help="leave weight_float_to_int_impl_type as it is: rounding to the nearest loses least.",
            )


def _load(name: str) -> Any:
    return load_extra(
        name,
        f"{name} cannot be imported, and a network of Brevitas cannot be exported without it.",
        'run `pip install "allo[brevitas]"`; in a checkout, run `scripts/setup --torch`.',
    )
