"""``s["blocks.*.attn.qkv"]``: the part of a model's schedule that belongs to some of its modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from allo.dialects.affine.loops import enclosing_loops, is_loop, string_attribute, walk
from allo.dialects.core.signature import callee_of
from allo.dialects.diagnostics import HandleTypeError, UnknownHandleError
from allo.schedule.bands import bands_of
from allo.schedule.handles import LoopWrapper
from allo.schedule.near import suggestion
from allo.schedule.parameters import moved
from allo.schedule.primitives.functions.compose import compose_on
from allo.schedule.resolve import buffers_of, find_function
from allo.schedule.schedule import Schedule
from allo.schedule.state import ScheduleState

from ..places import place_of_caller
from ..text import identifier
from .fusing.behind import fuse_behind, fuse_nests
from .paths import Match
from .replace import replace_function
from .share import share_functions
from .state import ModelState, call_text
from .streams import stream_between


class ModuleSchedule:
    """The schedule of some modules of a model: what is called on it acts on each of them.

    Every primitive of a schedule is a method. Its loops and arrays are those of the module's function:
    ``"k1"`` is a loop, ``"matmul.k1"`` a loop of one nest, ``"weight"`` a parameter of the module, and
    ``"qkv"`` the result of a module in it. A call on several modules is one step: where one of them
    refuses, all stay as they were. It returns a list then, in the order of ``paths``.

    Attributes:
        pattern: the path as it was given.
        found: the modules that it names.
    """

    pattern: str
    found: list[Match]

    def __init__(self, model: ModelState, pattern: str) -> None:
        self._model = model
        self.pattern = pattern
        self.found = model.matched(pattern)

    @property
    def paths(self) -> list[str]:
        """The paths of the modules."""
        return [match.path for match in self.found]

    @property
    def functions(self) -> list[str]:
        """The functions of the modules, each once; modules that share hardware have one."""
        named = [name for path in self.paths for name in self._model.functions[path]]
        return list(dict.fromkeys(named))

    def __repr__(self) -> str:
        return f"ModuleSchedule({self.pattern!r}: {', '.join(self.functions)})"

    def get_loops(self) -> Any:
        """The nests of the function, as ``get_loops`` of a schedule gives them; a list for several."""
        return _one_or_all([self._model.get_loops(name) for name in self.functions])

    # --- primitives on loops and arrays --------------------------------------------------------

    def __getattr__(self, name: str) -> Callable[..., Any]:
        run = None if name.startswith("_") else getattr(Schedule, name, None)
        if not hasattr(run, "__wrapped__"):
            raise UnknownHandleError(
                f"The schedule of modules has no primitive {name!r}.",
                None if name.startswith("_") else place_of_caller(),
                help=suggestion(name, _primitives(), "its methods are"),
            )

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._each(name, args, kwargs, lambda f: self._apply(name, f, args, kwargs))

        return call

    def pipeline(
        self, axis: str | LoopWrapper | None = None, initiation_interval: int = 1, **kwargs: Any
    ) -> None:
        """Pipeline a loop; without one, every innermost loop of the modules."""
        given = () if axis is None else (axis,)
        options = {"initiation_interval": initiation_interval, **kwargs}
        shown = {} if initiation_interval == 1 else {"initiation_interval": initiation_interval}

        def pipelined(function: str) -> None:
            for each in given or self._innermost(function):
                self._apply("pipeline", function, (each,), options)

        if not given and not any(map(self._innermost, self.functions)):
            raise UnknownHandleError(
                f"No function of {self.pattern!r} has a loop of its own.",
                place_of_caller(),
                help=f'name the modules in it, as in s["{self.pattern}.**"].',
            )
        self._each("pipeline", given, {**shown, **kwargs}, pipelined)

    # --- on modules ----------------------------------------------------------------------------

    def compose(self, schedules: Any) -> None:
        """Replay a schedule on the modules: that of a model of this module alone, or of a kernel.

        ::

            inner = from_pytorch(model.h[0].mlp, [hidden], target="mlir");  inner["0"].pipeline()
            s["h.*.mlp"].compose(inner)

        Raises:
            HandleTypeError: something that is no Schedule.
            ScheduleError: the types or shapes of the two sides disagree.
        """
        for each in schedules if isinstance(schedules, (list, tuple)) else [schedules]:
            if not isinstance(each, ScheduleState):
                raise HandleTypeError(
                    f"compose takes a Schedule, not {type(each).__name__}.",
                    place_of_caller(),
                    help="a library kernel takes the place of a module by replace.",
                )
        run = lambda function: compose_on(self._model, function, schedules)  # noqa: E731
        self._each("compose", (schedules,), {}, run)

    def replace(self, kernel: Any, instantiate: Sequence[Any] | None = None) -> None:
        """Let a kernel compute the modules.

        The kernel takes the inputs of the module, and may take its weights behind them: parameters, then
        buffers, in PyTorch's order. It returns what the module returns. A schedule that it has (its
        default schedule, or that of the Schedule given) is replayed.

        Args:
            kernel: a function of the language, or its Schedule.
            instantiate: template arguments; otherwise those that the module's types determine.

        Raises:
            ScheduleError: the two signatures differ; both are shown.
        """

        def replaced(function: str) -> None:
            replace_function(self._model, function, kernel, instantiate)

        given = {} if instantiate is None else {"instantiate": instantiate}
        self._each("replace", (kernel,), given, replaced)

    def share(self) -> None:
        """Let one function, and one instance of hardware, compute all the modules, one after the other.

        They have to be alike but for their weights. These become one constant with a dimension for the
        module, whose number is an argument of the function.

        Raises:
            ScheduleError: two modules are not alike; the first difference is named.
        """
        with self._model.step(self._text("share", (), {})):
            share_functions(self._model, self.paths, 1)

    def unroll_layers(self, instances: int) -> None:
        """As ``share``, with several instances: module ``k`` runs on instance ``k % instances``.

        Raises:
            ScheduleError: two modules are not alike, or there are fewer modules than instances.
        """
        with self._model.step(self._text("unroll_layers", (instances,), {})):
            share_functions(self._model, self.paths, instances)

    def stream_to(self, path: str, depth: int = -1) -> None:
        """Let the result of the modules pass to another module through a FIFO, and both run at once.

        Args:
            path: of the module that reads it: in the model, where wildcards stand for what those of this
                path do, or beside this module.
            depth: elements that the FIFO holds; -1 for all.

        Raises:
            UnknownHandleError: there is no such module.
            ScheduleError: the two are not called side by side, or the elements are not written once and
                read once in one order.
        """
        with self._model.step(
            self._text("stream_to", (path,), {} if depth == -1 else {"depth": depth})
        ):
            for match in self.found:
                stream_between(self._model, match, path, depth)

    def fuse(self, *names: Any, **options: Any) -> Any:
        """Fuse modules, or nests beside them, behind the modules; or loops, as on any schedule.

        ::

            s["h.*.mlp.0"].fuse("1")            # the module behind it, such as an activation
            s["h.*.attn.proj"].fuse("add")      # a nest beside it that reads its result
            s["h.*.attn"].fuse()                # the nests within it

        The modules become one function, which keeps the name of the first; the paths of all stand for it.
        A nest that computes each element from one element of another nest is computed where that element
        is stored, and the array between them goes. Nests with equal outer loops become one nest, and
        the array between them shrinks to what an iteration needs.

        Args:
            names: of what follows, in order: paths of modules, in the model, where wildcards stand for what
                those of this path do, or beside this module; or nests of the function that calls it.
                None for the nests within the modules. Two loops or more are fused into one.
            options: those of the primitive, for loops.

        Raises:
            UnknownHandleError: there is no such module or nest.
            ScheduleError: one does not read the result of the one before it, something else does too, or
                what it reads changes between the two.
        """
        if self._are_loops(names):
            each = lambda function: self._apply("fuse", function, names, options)  # noqa: E731
            return self._each("fuse", names, options, each)
        with self._model.step(self._text("fuse", names, options)):
            if not names:
                fuse_nests(self._model, self.functions, self.pattern)
            for match in self.found:
                fuse_behind(self._model, match, names)
        return None

    # --- how -----------------------------------------------------------------------------------

    def _text(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        return call_text(f's["{self.pattern}"].{name}', args, kwargs)

    def _each(
        self, name: str, args: Sequence[Any], kwargs: dict[str, Any], run: Callable[[str], Any]
    ) -> Any:
        """Do something to each function, as one step."""
        with self._model.step(self._text(name, args, kwargs)):
            return _one_or_all([run(function) for function in self.functions])

    def _apply(self, name: str, function: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """A primitive on one function."""
        run = getattr(Schedule, name)
        args = [self._handle(function, value) for value in args]
        kwargs = {key: self._handle(function, value) for key, value in kwargs.items()}
        if name in ("dataflow", "inline") and not args and not kwargs:
            args = [function]
        call = moved(run.__wrapped__, self._model, args, kwargs, function, lambda f: f)
        return run(*call.args, **call.kwargs)

    def _handle(self, function: str, value: Any) -> Any:
        """A name as the function knows it."""
        if isinstance(value, (list, tuple)):
            return [self._handle(function, item) for item in value]
        if not isinstance(value, str) or ":" in value:
            return value
        op = find_function(self._model.module, function)
        bands = {band.name: band for band in bands_of(op)}
        band, dot, loop = value.partition(".")
        if dot and band in bands and not any(each.find(value) for each in bands.values()):
            return LoopWrapper(function, band, loop, self._model.module)
        buffers = buffers_of(op)
        if value in buffers:
            return value
        here = [p for p in self.paths if function in self._model.functions[p]]
        for path in [*here, self._model.module_paths.get(function, "")]:
            found = self._named(op, buffers, path, value)
            if found:
                return found
        return value

    def _named(self, op: Any, buffers: Any, path: str, value: str) -> str | None:
        """The array that a name stands for in a module: a weight, or the result of a module in it."""
        inner = f"{path}.{value}" if path else value
        weight = f"g_{identifier(inner)}"
        if weight in buffers:
            return weight
        return self._result_of(op, inner)

    def _result_of(self, op: Any, path: str) -> str | None:
        """The array that a module called in a function returns."""
        for name in self._model.functions.get(path, []):
            for call in walk(op):
                if call.name == "func.call" and callee_of(call) == name:
                    return string_attribute(call, "name")
        return None

    def _are_loops(self, names: Sequence[Any]) -> bool:
        """Whether names are those of loops of the first function, and not of modules."""
        bands = bands_of(find_function(self._model.module, self.functions[0]))
        loops = {loop for band in bands for loop, _ in band.loops}
        loops |= {f"{band.name}.{loop}" for band in bands for loop, _ in band.loops}
        named = [isinstance(n, LoopWrapper) or (isinstance(n, str) and n in loops) for n in names]
        return len(named) > 1 and all(named)

    def _innermost(self, function: str) -> list[LoopWrapper]:
        """The loops of a function that hold no other, without those in a pipeline."""
        op = find_function(self._model.module, function)
        found = []
        for band in bands_of(op):
            for name, loop in band.loops:
                around = [
                    each for each in enclosing_loops(loop) if "pipeline_ii" in each.attributes
                ]
                if not around and not any(is_loop(inner) for inner in walk(loop)):
                    found.append(LoopWrapper(function, band.name, name))
        return found


def _primitives() -> list[str]:
    listed = [n for n in dir(Schedule) if hasattr(getattr(Schedule, n), "__wrapped__")]
    own = ["compose", "fuse", "pipeline", "replace", "share", "stream_to", "unroll_layers"]
    return sorted({*listed, *own})


def _one_or_all(results: list[Any]) -> Any:
    return results[0] if len(results) == 1 else results
