"""``torch.export`` and what is read from it: a :class:`~allo.models.graph.Model`."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from allo.dialects.diagnostics import ModelError, UnsupportedOperatorError
from allo.models.graph import Meta, Model, ModuleCall, Operator, Ref, Stored
from allo.models.operators import OPERATORS
from allo.models.operators.nearest import nearest_form

from .places import module_of_error, place_of_error, place_of_trace
from .pt2e.tensors import QuantisedTensors
from .wheel import load_torch

KNOWN = frozenset({*OPERATORS, "getitem"})
"""The operators that need no decomposition."""

_ROUNDS = 8
"""Decompositions may yield what must be decomposed again."""

_DEQUANTIZED = {
    f"quantized_decomposed.dequantize_per_{what}"
    for what in ("tensor.default", "tensor.tensor", "channel.default")
}

_IGNORED = {
    "aten._assert_tensor_metadata.default",
    "aten._assert_async.msg",
    "aten._assert_scalar.default",
}


def export_model(model: Any, example_inputs: Sequence[Any], known: Collection[str]) -> Model:
    """Export a model with ``torch.export`` and read the graph.

    Operators that are not in ``known`` are decomposed by PyTorch's own table where it has them.

    Raises:
        ToolMissingError: without PyTorch.
        ModelError: when the example inputs do not fit, or the model cannot be exported.
        UnsupportedOperatorError: when a tensor that depends on no input cannot be computed.
    """
    torch = load_torch()
    _check_inputs(torch, model, example_inputs)
    with evaluating(model):
        program = _export(torch, model, tuple(example_inputs))
        program = _decomposed(program, known)
    return _Reader(torch, program).read()


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """A model in evaluation; its modules are in the mode they had again at the end."""
    training = [module for module in model.modules() if module.training]
    with suppress(NotImplementedError):  # a model that was exported keeps the mode of its export
        model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def _check_inputs(torch: Any, model: Any, example_inputs: Any) -> None:
    if not isinstance(model, torch.nn.Module):
        raise ModelError(
            f"from_pytorch takes a torch.nn.Module, not {type(model).__name__}.",
            help="wrap a function in a module whose forward calls it.",
        )
    if not isinstance(example_inputs, (list, tuple)):
        raise ModelError(
            f"example_inputs is a list of tensors, not {type(example_inputs).__name__}.",
            help="write [x] for a model of one input.",
        )
    for number, value in enumerate(example_inputs):
        if not isinstance(value, torch.Tensor):
            raise ModelError(
                f"Example input {number} is of type {type(value).__name__}, and not a tensor.",
                help="give a model's options to its constructor; inputs are tensors.",
            )
        if value.is_sparse or value.dtype.is_complex:
            raise ModelError(
                f"Example input {number} is {'sparse' if value.is_sparse else 'complex'}.",
                help="inputs are dense tensors of floats, integers or bools.",
            )


def _export(torch: Any, model: Any, inputs: tuple[Any, ...]) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.export.export(model, inputs, strict=False)
    except Exception as error:
        package = str(Path(torch.__file__).parent)
        owner = module_of_error(error, torch.nn.Module)
        path = next((name for name, module in model.named_modules() if module is owner), "")
        place = place_of_error(error, package)
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise ModelError(
            f"{_described(path, model)} cannot be exported by torch.export"
            f"{_why(error, bool(inputs))}.",
            place,
            notes=(f"PyTorch says: {lines[0] if lines else type(error).__name__}",),
            help=_remedy(error),
        ) from error


def _described(path: str, model: Any) -> str:
    return f"Module {path!r}" if path else f"The model ({type(model).__name__})"


def _is_dynamic(error: BaseException) -> bool:
    name = type(error).__name__
    return "DataDependent" in name or "data-dependent" in str(error) or "vmap" in name


def _why(error: BaseException, has_inputs: bool) -> str:
    if _is_dynamic(error):
        return ": what it does depends on the values of its input"
    if isinstance(error, (TypeError, RuntimeError, ValueError)) and has_inputs:
        return " with these example inputs"
    return ""


def _remedy(error: BaseException) -> str:
    if _is_dynamic(error):
        return "hardware is fixed: compute both results and choose with torch.where."
    if "quantized nyi in meta tensors" in str(error):
        return (
            "torch.export knows no tensors quantised per channel; write the operators "
            "quantize_per_channel and dequantize_per_channel of torch.ops.quantized_decomposed."
        )
    return "call the model on the example inputs first; shapes and types have to fit its forward."


def _decomposed(program: Any, known: Collection[str]) -> Any:
    """A program of known operators that change no tensor, as far as PyTorch decomposes the others.

    Each decomposition takes PyTorch half a second, however small the model.
    """
    chosen: dict[Any, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if any(_mutates(op) for op in _called(program)):
            program = program.run_decompositions({})
        for _ in range(_ROUNDS):
            unknown = {op for op in _called(program) if _spelled(op) not in known}
            if not unknown:
                break
            more = _decompositions(unknown - chosen.keys())
            if chosen and not more:
                break
            chosen |= more
            program = program.run_decompositions(chosen)
    program.graph.eliminate_dead_code()
    return program


def _decompositions(operators: set[Any]) -> dict[Any, Any]:
    """Those that PyTorch has for some operators."""
    table = _all_decompositions()
    return {op: table[op] for op in operators if op in table}


@cache
def _all_decompositions() -> Any:
    """PyTorch's table, which takes a fifth of a second to make."""
    return load_torch().export.default_decompositions()


def _called(program: Any) -> set[Any]:
    return {node.target for node in program.graph.nodes if node.op == "call_function"}


def _mutates(op: Any) -> bool:
    return hasattr(op, "_schema") and op._schema.is_mutable


def _spelled(target: Any) -> str:
    """``"aten.add.Tensor"``; of Python's own functions the bare name."""
    name = str(target)
    return name if "." in name and not name.startswith("<") else getattr(target, "__name__", name)


class _Reader:
    """Reads one exported program."""

    def __init__(self, torch: Any, program: Any) -> None:
        self.torch = torch
        self.program = program
        self.package = str(Path(torch.__file__).parent)
        self.model = Model()
        self.quantised = QuantisedTensors()
        self.values: dict[str, Any] = {}  # tensors that depend on no input, as PyTorch holds them

    def read(self) -> Model:
        """Every node, in order."""
        signature = self.program.graph_signature
        self._refuse_mutation(signature)
        kinds = {spec.arg.name: spec for spec in signature.input_specs}
        for node in self.program.graph.nodes:
            if node.op == "placeholder":
                self._input(node, kinds[node.name])
            elif node.op == "call_function":
                self._call(node)
            elif node.op == "output":
                self._outputs(node)
            else:
                raise self._refusal(node, f"graph attribute {node.target}")
        return self.model

    def _refuse_mutation(self, signature: Any) -> None:
        for spec in signature.output_specs:
            if "MUTATION" not in spec.kind.name:
                continue
            node = next(n for n in self.program.graph.nodes if n.name == spec.arg.name)
            what = "buffer" if "BUFFER" in spec.kind.name else "input"
            raise ModelError(
                f"The model changes its {what} {spec.target!r} in place.",
                place_of_trace(node.meta.get("stack_trace"), self.package),
                help=f"return the new value of the {what}, and give it as an input of the next call.",
            )

    def _input(self, node: Any, spec: Any) -> None:
        kind = spec.kind.name
        if kind == "USER_INPUT":
            self.model.inputs[node.name] = self._meta(node.meta["val"], node)
        elif kind in ("PARAMETER", "BUFFER"):
            program = self.program
            tensors = program.state_dict if spec.target in program.state_dict else program.constants
            self.model.weights[node.name] = (
                spec.target,
                elements(self.torch, tensors[spec.target]),
            )
        elif kind == "CONSTANT_TENSOR":
            self._keep(node.name, self.program.constants[spec.target])
        else:
            raise ModelError(f"The model's input {node.name!r} is of an unknown kind ({kind}).")

    def _call(self, node: Any) -> None:
        target = _spelled(node.target)
        if target in _IGNORED:
            return
        names = [n.name for n in node.all_input_nodes]
        weights = [name for name in names if name in self.model.weights]
        known = all(name in self.values or name in self.model.weights for name in names)
        if target in _DEQUANTIZED and known and names[0] in weights:
            self._dequantise(node, weights)
            return
        value = node.meta.get("val")
        results = value if isinstance(value, (list, tuple)) else [value]
        metas: Sequence[Meta | None] = [
            self._meta(r, node) if isinstance(r, self.torch.Tensor) else None for r in results
        ]
        args = self._arguments(node)
        if self.quantised.misused(target, args):
            raise self._refusal(
                node,
                f"{target} of a quantised tensor",
                "dequantize it first, compute in floats, and quantize the result.",
            )
        quantised = self.quantised.converted(node.name, target, args, metas)
        if quantised is not None:
            args, metas = quantised
        elif all(name in self.values for name in names):
            self._fold(node)
            return
        self.model.operators.append(
            Operator(
                node.name,
                target,
                args,
                tuple(metas),
                self._stack(node),
                place_of_trace(node.meta.get("stack_trace"), self.package),
            )
        )

    def _dequantise(self, node: Any, weights: Sequence[str]) -> None:
        """A weight that PyTorch has quantised, as the floats that the model computes with."""
        held = {name: self.model.weights[name] for name in weights}
        tensors = {name: self.torch.from_numpy(array.copy()) for name, (_, array) in held.items()}
        values = {**self.values, **tensors}
        take = self.torch.fx.node.map_arg
        args = take(node.args, lambda n: values[n.name])
        kwargs = take(node.kwargs, lambda n: values[n.name])
        path = held[weights[0]][0]
        self.model.weights[node.name] = (path, elements(self.torch, node.target(*args, **kwargs)))
        named = self._arguments(node)
        scale, zero = (
            self._fixed(named.get(f"{key}s", named.get(key))) for key in ("scale", "zero_point")
        )
        self.model.stored[node.name] = Stored(
            held[weights[0]][1], scale, 0 if zero is None else zero, named.get("axis")
        )

    def _fixed(self, value: Any) -> Any:
        """A number, or the array behind a reference to a weight or a known tensor."""
        if not isinstance(value, Ref):
            return value
        known = self.model.weights.get(value.name)
        array = known[1] if known else elements(self.torch, self.values[value.name])
        return array if array.ndim else array.item()

    def _fold(self, node: Any) -> None:
        """Compute a tensor that depends on no input."""
        if self.torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            raise self._refusal(node, f"{_spelled(node.target)}, which is random")
        take = self.torch.fx.node.map_arg
        args = take(node.args, lambda n: self.values[n.name])
        kwargs = take(node.kwargs, lambda n: self.values[n.name])
        self._keep(node.name, node.target(*args, **kwargs))

    def _keep(self, name: str, value: Any) -> None:
        self.values[name] = value
        if isinstance(value, self.torch.Tensor):
            self.model.constants[name] = elements(self.torch, value)

    def _outputs(self, node: Any) -> None:
        for spec in self.program.graph_signature.output_specs:
            if spec.kind.name == "USER_OUTPUT":
                if not getattr(spec.arg, "name", None):
                    raise ModelError("The model returns something that is no tensor.")
                self.model.outputs.append(spec.arg.name)

    def _arguments(self, node: Any) -> dict[str, Any]:
        schema = getattr(node.target, "_schema", None)
        if schema is None:
            values: Mapping[str, Any] = {str(k): v for k, v in enumerate(node.args)}
        else:
            names = [argument.name for argument in schema.arguments]
            given = {**dict(zip(names, node.args, strict=False)), **node.kwargs}
            values = {
                a.name: given.get(a.name, a.default_value if a.has_default_value() else None)
                for a in schema.arguments
            }
        return {name: self._argument(value) for name, value in values.items()}

    def _argument(self, value: Any) -> Any:
        if isinstance(value, self.torch.fx.Node):
            return Ref(value.name)
        if isinstance(value, (list, tuple)):
            return [self._argument(item) for item in value]
        if isinstance(value, self.torch.dtype):
            return str(value).removeprefix("torch.")
        return value

    def _stack(self, node: Any) -> tuple[ModuleCall, ...]:
        found = node.meta.get("nn_module_stack") or {}
        return tuple(
            ModuleCall(key, path, _class_name(kind)) for key, (path, kind) in found.items() if path
        )

    def _meta(self, value: Any, node: Any) -> Meta:
        if not all(isinstance(extent, int) for extent in value.shape):
            stack, target = self._stack(node), _spelled(node.target)
            raise ModelError(
                f"{f'Module {stack[-1].path!r}' if stack else 'The model'} uses {target}, whose result has "
                "a shape that depends on the values of the input.",
                place_of_trace(node.meta.get("stack_trace"), self.package),
                help=nearest_form(target, ()),
            )
        return Meta(tuple(value.shape), str(value.dtype).removeprefix("torch."))

    def _refusal(self, node: Any, what: str, help: str = "") -> UnsupportedOperatorError:
        stack = self._stack(node)
        where = f"Module {stack[-1].path!r}" if stack else "The model"
        place = place_of_trace(node.meta.get("stack_trace"), self.package)
        return UnsupportedOperatorError(f"{where} uses {what}.", place, help=help)


def _class_name(kind: Any) -> str:
    name = kind if isinstance(kind, str) else kind.__name__
    return name.rpartition(".")[2]


def elements(torch: Any, tensor: Any) -> Any:
    """A NumPy array over the tensor's own memory where that is possible."""
    tensor = tensor.detach().cpu()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.float()
    return tensor.contiguous().numpy()
