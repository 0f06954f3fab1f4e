"""``from_pytorch``: a PyTorch model as a schedule, or built for a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from allo.dialects.diagnostics import ModelError
from allo.models.compiled import BuiltModel, built_for, schedule_of
from allo.models.modules.library import choose_kernels
from allo.models.storage.choices import Storage
from allo.models.types import Types

from .exporting import KNOWN, export_model
from .origin import Prepared, TorchOrigin
from .pt2e.entry import integers_of, is_converted

__all__ = ["BuiltModel", "from_pytorch"]


def from_pytorch(
    model: Any,
    example_inputs: Sequence[Any],
    leaf_modules: Sequence[type] | None = None,
    verbose: bool = False,
    enable_tensor: bool = False,
    target: str = "llvm",
    mode: str = "csim",
    project: str = "top.prj",
    op_dtypes: Mapping[str, Any] | None = None,
    weights_as_args: bool | Sequence[str] = False,
    verify: bool | float = False,
    library: bool | Mapping[str, bool] = True,
    layouts: Mapping[str, Sequence[int]] | None = None,
) -> Any:
    """Compile a PyTorch model.

    The model is exported with ``torch.export``. Each call of a module becomes a function, so that the
    hierarchy of the model is the hierarchy of the design.

    Args:
        model: a ``torch.nn.Module``, compiled as in ``model.eval()``, or what :func:`allo.quantize` gave.
        example_inputs: a list of tensors, which give the shapes and types of the inputs.
        leaf_modules: accepted for published programs; modules are always entered.
        verbose: print the kernels and the core IR.
        enable_tensor: accepted for published programs; arrays are memrefs.
        target: ``"mlir"`` for the Schedule, ``"llvm"`` for a function on NumPy arrays, or another
            target of ``Schedule.build``.
        mode: step of an HLS target.
        project: folder of an HLS target.
        op_dtypes: element types: of ``"inputs"``, ``"outputs"``, ``"default"``, of an operator (``"linear"``,
            ``"linear_input"``, ``"linear_weight"``) or of a module by its path; a type, its name as in
            ``"Fixed(16, 8)"``, or ``[input, weight, output]``.
        weights_as_args: weights are arguments behind the inputs, and not constants; the result then has
            ``weight_data``, and a built one appends it when it is called. A list of patterns of their
            paths, such as ``["h.*.mlp.**"]``, makes those arguments.
        verify: compare with PyTorch on the example inputs now, and after each step of the schedule; a
            number is the tolerance, relative or absolute (1e-4 by default).
        layouts: for patterns of paths of weights, the order in which their dimensions are stored,
            such as ``{"conv*.weight": (0, 2, 3, 1)}``.
        library: whether modules that are known patterns become kernels of ``allo.library`` with their default
            schedules; or for which, by their paths: ``{"blocks.*.fc": False}``.

    Raises:
        ToolMissingError: PyTorch is not installed; the extra ``torch`` brings it.
        ModelError: example inputs that do not fit, dynamic control or shapes, or mutation.
        UnsupportedOperatorError: an operator without a lowering; the module path and the line are given.
        StepError: raised by a step of a verified schedule that changes the result.
    """
    floats = False
    if isinstance(model, Prepared):
        if op_dtypes:
            raise ModelError(
                "op_dtypes cannot be given for a quantised model.",
                help="its types are those of the scheme; quantise again with another one.",
            )
        exported, origin = model.exported(example_inputs), model.origin(example_inputs)
    else:
        exported = export_model(model, example_inputs, KNOWN)
        origin = TorchOrigin(model, example_inputs)
        floats = not is_converted(exported)
        if not floats:
            exported, origin = integers_of(exported, model, example_inputs)
    names = {op.name for op in exported.operators} | {op.kind for op in exported.operators}
    types = Types(op_dtypes, {*names, *(op.path for op in exported.operators if op.path)})
    storage = Storage(weights_as_args, layouts or {})
    schedule = schedule_of(exported, origin, types, storage)
    if floats:  # the order of operations in a quantised model is that of its reference
        choose_kernels(schedule, exported, library, storage)
    return built_for(
        schedule,
        len(exported.inputs),
        target=target,
        mode=mode,
        project=project,
        weights_as_args=bool(weights_as_args),
        verbose=verbose,
        verify=verify,
    )
