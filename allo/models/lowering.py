"""A model as kernels: one function for each call of a module, callees before callers."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from allo.dialects.diagnostics import SourcePlace, UnsupportedOperatorError

from .body import Call
from .graph import Model, Operator, Ref
from .operators import INTEGERS, OPERATORS, VIEWS
from .operators.nearest import nearest_form
from .regions import Region, region_tree
from .storage.choices import Storage
from .tensors import Tensor
from .text import FunctionText, identifier, type_text
from .types import TYPE_NAMES, Types

TOP = "forward"
_PARAMETER = "x"
_SAMPLE = "n"
"""Prefix of the counter of samples."""

_WORD = re.compile(r"\w+")
_NEST = re.compile(r'    for .*name="(\w+)"')
Make = Callable[..., Any]
Lines = list[tuple[str, SourcePlace | None]]


@dataclass(frozen=True, slots=True)
class Choice:
    """What an operator of the model became.

    Attributes:
        path: of the module it stands in.
        operator: its name in the exported graph.
        target: the ATen operator.
        function: the generated function.
        nests: the names of the nests; none for a view, which is only another subscript.
        place: the model's line.
    """

    path: str
    operator: str
    target: str
    function: str
    nests: tuple[str, ...]
    place: SourcePlace | None


@dataclass(frozen=True, slots=True)
class Generated:
    """The kernels of a model.

    Attributes:
        lines: of the source text, with the model's lines they come from.
        namespace: what the text refers to.
        weights: the arrays to append to a call, where weights are arguments.
        functions: the function of each module call: its name to the module's path.
        choices: what each operator became, in order.
        weights_of: the names of the weights that a function takes behind its inputs.
    """

    lines: Lines
    namespace: dict[str, Any]
    weights: list[Any]
    functions: dict[str, str]
    choices: list[Choice]
    weights_of: dict[str, list[str]]


@dataclass(slots=True)
class _Function:
    """A finished function: its name, the weights it takes, its results."""

    name: str
    weights: list[str]
    results: list[Tensor]


@dataclass(slots=True)
class _Scope:
    """What the operators of one function see."""

    text: FunctionText
    values: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, Tensor] = field(default_factory=dict)
    declarations: list[str] = field(default_factory=list)
    weights: list[str] = field(default_factory=list)
    choices: list[tuple[Operator, tuple[str, ...]]] = field(default_factory=list)


def lower_model(
    model: Model, types: Types, storage: Storage, samples: int | None = None
) -> Generated:
    """Write the kernels of a model.

    Args:
        samples: a call takes so many samples, one after the other in the loop ``samples``; None for one
            without a dimension of samples.

    Raises:
        UnsupportedOperatorError: an operator, or a form of one, that is not supported.
        ModelError: a weight that is not there, or a layout that does not fit one.
    """
    return _Lowering(model, types, storage, samples).run()


class _Lowering:
    def __init__(self, model: Model, types: Types, storage: Storage, samples: int | None) -> None:
        self.samples = samples
        self.model = model
        self.types = types
        self.storage = storage
        self.paths: dict[str, str] = {}
        self.lines: Lines = []
        self.arrays: dict[str, Any] = {}
        self.constants: dict[str, Tensor] = {}
        self.functions: dict[str, str] = {}
        self.choices: list[Choice] = []
        self.weights_of: dict[str, list[str]] = {}
        self.bodies: dict[Any, _Function] = {}
        self.root = region_tree(model.operators, VIEWS)
        self.names: dict[int, str] = {}
        self._name_functions(self.root)
        fixed = {TOP, "allo", "infinity", "not_a_number", *dir(builtins), *TYPE_NAMES}
        self.reserved = frozenset({*self.names.values(), *fixed})

    def run(self) -> Generated:
        """All functions, then the arrays they read."""
        self.storage.check({path for path, _ in self.model.weights.values()})
        parameters = {
            name: Tensor.whole(identifier(name), meta.shape, self.types.input(meta.dtype))
            for name, meta in self.model.inputs.items()
        }
        top = self._function(self.root, parameters, self.model.outputs)
        namespace = {
            "allo": import_module("allo"),  # kernels see the whole package
            "infinity": float("inf"),
            "not_a_number": float("nan"),
            **self.types.namespace,
            **{f"data_{name}": array for name, array in self.arrays.items()},
        }
        weights = [self.arrays[name] for name in top.weights]
        return Generated(
            self.lines, namespace, weights, self.functions, self.choices, self.weights_of
        )

    # --- functions ------------------------------------------------------------------------------

    def _name_functions(self, region: Region) -> None:
        for item in region.items:
            if isinstance(item, Region) and item.call:
                path = item.call.path
                stem = f"{item.call.kind.lower()}_{path}" if path[0].isdigit() else path
                self.names[id(item)] = identifier(stem)
                self._name_functions(item)

    def _function(
        self, region: Region, parameters: dict[str, Tensor], outputs: Sequence[str]
    ) -> _Function:
        """Write the function of a region, or find the equal one that is there already."""
        text = FunctionText(self.names.get(id(region), TOP), self.reserved)
        scope = _Scope(text)
        samples = self.samples if region.call is None else None
        for name, given in parameters.items():
            wanted = given.array if region.call is None else _PARAMETER
            shape = given.shape if samples is None else (samples, *given.shape)
            scope.values[name] = Tensor.whole(text.fresh(wanted), shape, given.dtype)
        arguments = [f"{p.array}: {_declared(p)}" for p in scope.values.values()]
        if samples is None:
            results = self._body(scope, region, outputs)
        else:
            results = self._each_sample(scope, region, outputs, samples)
        _drop_unused(scope)
        if self.storage.any_arguments:
            arguments += [
                f"{t.array}: {_declared(t)}" for t in map(scope.constants.get, scope.weights) if t
            ]
        return self._finished(region, scope, arguments, results)

    def _body(self, scope: _Scope, region: Region, outputs: Sequence[str]) -> list[Tensor]:
        """Write the operators and calls of a region; its results."""
        taken = {p.array for p in scope.values.values()}
        for position, item in enumerate(region.items):
            if isinstance(item, Operator):
                self._operator(scope, item)
            else:
                later = {n for other in region.items[position + 1 :] for n in _reads(other)}
                made = [op.name for op in item.operators()]
                self._call(scope, item, [n for n in made if n in later or n in outputs])
        results = []
        for name in outputs:
            results.append(self._result(scope, name, taken, is_top=region.call is None))
            taken.add(results[-1].array)
        return results

    def _each_sample(
        self, scope: _Scope, region: Region, outputs: Sequence[str], samples: int
    ) -> list[Tensor]:
        """Write a loop around a region, whose values are samples of arrays with a dimension more."""
        text, before = scope.text, len(scope.text.body)
        given = []
        with text.loops((samples,), "samples", prefix=_SAMPLE) as (number,):
            for name, whole in list(scope.values.items()):
                sample = text.array(f"{whole.array}_sample", whole.shape[1:], whole.dtype)
                with text.loops(sample.shape, "take") as at:
                    text.line(f"{sample.at(*at)} = {whole.at(number, *at)}")
                scope.values[name] = sample
            for result in self._body(scope, region, outputs):
                shape = samples, *result.shape
                whole = Tensor.whole(text.fresh("results"), shape, result.dtype)
                with text.loops(result.shape, "give", prefix="o") as at:
                    text.line(f"{whole.at(number, *at)} = {result.at(*at)}")
                given.append(whole)
        text.body[before:before] = [(f"    {w.array}: {_declared(w)}", None) for w in given]
        return given

    def _result(self, scope: _Scope, name: str, taken: set[str], *, is_top: bool) -> Tensor:
        """A result, copied where it is a view, an argument, a constant, or of another type."""
        tensor: Tensor = self._value(scope, name)
        dtype = (self.types.output(tensor.dtype) if is_top else None) or tensor.dtype
        constants = {t.array for t in scope.constants.values()}
        if tensor.is_whole and tensor.array not in taken | constants and tensor.dtype == dtype:
            return tensor
        return _copied(scope.text, tensor, dtype, "result")

    def _finished(
        self, region: Region, scope: _Scope, arguments: list[str], results: list[Tensor]
    ) -> _Function:
        text = scope.text
        returned = ", ".join(map(_declared, results))
        if len(results) > 1:
            returned = f"({returned})"
        head = f"({', '.join(arguments)}) -> {returned}:"
        last = f"    return {', '.join(r.array for r in results)}"
        body: Lines = [(f"    {line}", None) for line in scope.declarations]
        body += [*text.body, (last, text.place)]
        key = (region.call and region.call.path, head, tuple(line for line, _ in body))
        if key in self.bodies:
            return self.bodies[key]
        name, number = text.name, 0
        while name in self.functions or (number and name in self.reserved):
            number += 1
            name = f"{text.name}_{number}"
        place = next((place for _, place in text.body if place), None)
        self.lines += [(f"def {name}{head}", place), *body, ("", None)]
        self.functions[name] = region.call.path if region.call else ""
        self.weights_of[name] = scope.weights if self.storage.any_arguments else []
        self.choices += [
            Choice(op.path, op.name, op.target, name, nests, op.place)
            for op, nests in scope.choices
        ]
        self.bodies[key] = _Function(name, scope.weights, results)
        return self.bodies[key]

    def _call(self, scope: _Scope, region: Region, kept: Sequence[str]) -> None:
        """Call the function of a region."""
        if not kept:
            return
        text = scope.text
        text.place = next(region.operators()).place
        known = {*self.model.weights, *self.model.constants}
        parameters = {}
        for name in region.reads():
            if name not in known:
                value = self._value(scope, name)
                whole = value if value.is_whole else _copied(text, value, value.dtype, "copy")
                parameters[name] = whole
        callee = self._function(region, parameters, kept)
        arguments = [value.array for value in parameters.values()]
        if self.storage.any_arguments:
            arguments += [self._constant(scope, name, None).array for name in callee.weights]
        names = [text.fresh(f"{callee.name}_out") for _ in kept]
        call = f"{callee.name}({', '.join(arguments)})"
        declared = f": {_declared(callee.results[0])}" if len(names) == 1 else ""
        text.line(f"{', '.join(names)}{declared} = {call}")
        for name, array, result in zip(kept, names, callee.results, strict=True):
            scope.values[name] = Tensor.whole(array, result.shape, result.dtype)

    # --- operators ------------------------------------------------------------------------------

    def _operator(self, scope: _Scope, op: Operator) -> None:
        scope.text.place = op.place
        if op.target == "getitem":
            source, number = op.args["0"], op.args["1"]
            scope.values[op.name] = self._value(scope, source.name)[number]
            return
        emit = OPERATORS.get(op.target) or INTEGERS.get(op.target)
        if emit is None:
            raise _unknown(op)

        def resolved(value: Any) -> Any:
            if isinstance(value, Ref):
                return self._value(scope, value.name, op)
            return [resolved(item) for item in value] if isinstance(value, list) else value

        def derive(name: str, make: Make, sources: Sequence[str]) -> Tensor:
            return self._derived(scope, op, name, make, sources)

        args = {name: resolved(value) for name, value in op.args.items()}
        written = len(scope.text.body)
        scope.values[op.name] = emit(Call(op, args, scope.text, self.types, derive))
        lines = [line for line, _ in scope.text.body[written:]]
        nests = tuple(found[1] for line in lines if (found := _NEST.match(line)))
        scope.choices.append((op, nests))

    def _value(self, scope: _Scope, name: str, op: Operator | None = None) -> Any:
        found = scope.values.get(name)
        return found if found is not None else self._constant(scope, name, op)

    def _constant(self, scope: _Scope, name: str, op: Operator | None) -> Tensor:
        """A weight or a constant tensor as an array of this function."""
        if name not in self.constants:
            path, array = self.model.weights.get(name) or (name, self.model.constants[name])
            self._keep(name, path, array, op)
        tensor = self.constants[name]
        if name not in scope.constants:
            scope.constants[name] = tensor
            if name not in self.model.constants and self.storage.is_argument(self.paths[name]):
                scope.weights.append(name)
            else:
                line = f"{tensor.array}: {_declared(tensor)} = data_{name}"
                scope.declarations.append(line)
        return tensor

    def _derived(
        self, scope: _Scope, op: Operator, name: str, make: Make, sources: Sequence[str]
    ) -> Tensor:
        """A weight computed from others while compiling, such as the scale of a batch norm."""
        full = identifier(f"{op.name}_{name}")
        if full not in self.constants:
            refs = [op.args[source] for source in sources]
            known = {**{n: a for n, (_, a) in self.model.weights.items()}, **self.model.constants}
            arrays = [known[ref.name] if isinstance(ref, Ref) else ref for ref in refs]
            path = f"{op.path}.{name}" if op.path else full
            self._keep(full, path, make(*arrays), op)
        return self._constant(scope, full, op)

    def _keep(self, name: str, path: str, array: Any, op: Operator | None) -> None:
        dtype = self.model.narrow.get(name, array.dtype.name)
        spelled = self.types.weight(op, dtype) if op else self.types.of_torch(dtype)
        values = array.astype("uint8") if dtype == "bool" else array
        order = self.storage.order(path, array.shape)
        if order:
            values = values.transpose(order).copy()
        whole = Tensor.whole(f"g_{identifier(path)}", values.shape, spelled)
        self.arrays[name] = values.reshape(whole.extents)
        self.paths[name] = path
        self.constants[name] = (
            whole.permuted([order.index(d) for d in range(len(order))]) if order else whole
        )


def _drop_unused(scope: _Scope) -> None:
    """Forget the weights that nothing reads, such as those from which others were derived."""
    words = {word for line, _ in scope.text.body for word in _WORD.findall(line)}
    unread = {name for name, tensor in scope.constants.items() if tensor.array not in words}
    scope.weights = [name for name in scope.weights if name not in unread]
    arrays = {scope.constants[name].array for name in unread}
    scope.declarations = [d for d in scope.declarations if d.split(":")[0] not in arrays]


def _declared(tensor: Tensor) -> str:
    return type_text(tensor.dtype, tensor.extents)


def _copied(text: FunctionText, source: Tensor, dtype: str, wanted: str) -> Tensor:
    target = text.array(wanted, source.shape, dtype)
    with text.loops(target.shape, wanted) as at:
        text.line(f"{target.at(*at)} = {source.at(*at)}")
    return target


def _reads(item: Operator | Region) -> list[str]:
    return list(item.refs()) if isinstance(item, Operator) else item.reads()


def _unknown(op: Operator) -> UnsupportedOperatorError:
    where = f"Module {op.path!r}" if op.path else "The model"
    return UnsupportedOperatorError(
        f"{where} uses {op.target}, which is not supported.",
        op.place,
        help=nearest_form(op.target, OPERATORS),
    )
