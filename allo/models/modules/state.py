"""A model's schedule with what is known of its modules, and steps that are verified and undone whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from allo.dialects.diagnostics import AlloError, HandleTypeError, OptionError
from allo.dialects.text.shown import shown
from allo.frontend.kernel_module import KernelModule
from allo.schedule.primitive import transaction
from allo.schedule.schedule import Schedule

from ..lowering import Choice, Generated
from ..origin import Origin
from ..places import place_of_caller
from .paths import Match, matches, unmatched
from .verification import TOLERANCE, Verification


class ModelState(Schedule):
    """The schedule of a model, and the functions of its modules.

    Attributes:
        origin: the PyTorch model and its example inputs.
        module_paths: the path in the model behind each function; ``""`` for the model itself.
        functions: the functions of each module path; after ``share`` several paths have the same.
        choices: what each operator became when the model was lowered.
        changes: what steps made of modules, by path.
        replaced: the kernel that took the place of a module, by path.
        reasons: why no kernel of the library computes an operator that looks like one, by its name.
        numbered: the functions that several modules share, and that take the number of the module.
        weights_of: the names of the weights that a function takes behind its inputs.
        weight_data: the arrays that a call takes behind the inputs, where weights are arguments.
        steps: the steps applied so far, as they were written.
    """

    origin: Origin
    module_paths: dict[str, str]
    functions: dict[str, list[str]]
    choices: list[Choice]
    changes: dict[str, list[str]]
    replaced: dict[str, str]
    reasons: dict[str, str]
    numbered: set[str]
    weights_of: dict[str, list[str]]
    weight_data: list[Any]
    steps: list[str]

    def __init__(self, kernel: KernelModule, generated: Generated, origin: Origin) -> None:
        super().__init__(kernel)
        self.origin = origin
        self.module_paths = dict(generated.functions)
        self.functions = {}
        for function, path in generated.functions.items():
            self.functions.setdefault(path, []).append(function)
        self.choices = generated.choices
        self.changes = {}
        self.replaced = {}
        self.reasons = {}
        self.numbered = set()
        self.weights_of = generated.weights_of
        self.weight_data = generated.weights
        self.steps = []
        self._verification: Verification | None = None
        self._inside = False

    def verify_steps(self, on: bool | float = True) -> None:
        """Compare the design with PyTorch on the example inputs, now and after each step.

        Args:
            on: whether to; a number is the tolerance, relative or absolute (1e-4 by default).

        Raises:
            ModelError: the design differs from PyTorch already.
            OptionError: neither a truth value nor a positive number.
        """
        self._verification = None
        if on is False:
            return
        if not isinstance(on, (bool, int, float)) or not on > 0:
            raise OptionError(
                f"verify is {shown(on)}, and neither a truth value nor a tolerance.",
                place_of_caller(),
                help="write verify=True, or a positive number such as verify=0.01.",
            )
        tolerance = TOLERANCE if on is True else float(on)
        verification = Verification(self.origin, self.weight_data, tolerance)
        verification.check_start(self)
        self._verification = verification

    def check_step(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """A primitive that was called on the schedule itself is a step.

        Raises:
            StepError: it changed the result.
        """
        if not self._inside:
            self._check(call_text(f"s.{name}", args, kwargs))

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """One step of the user's, of any number of primitives: verified and undone as a whole.

        Args:
            text: the call as it is written.

        Raises:
            StepError: it changed the result.
        """
        kept = self._tables()
        self._inside = True
        try:
            with transaction(self):
                yield
                self._check(text)
        except BaseException as error:
            self._restore(kept)
            if isinstance(error, AlloError) and error.place is None:
                error.place = place_of_caller()
            raise
        finally:
            self._inside = False

    def _check(self, text: str) -> None:
        if self._verification is not None:
            self._verification.check_step(self, len(self.steps) + 1, text)
        self.steps.append(text)

    def _tables(self) -> dict[str, Any]:
        lists = {path: list(functions) for path, functions in self.functions.items()}
        changes = {path: list(texts) for path, texts in self.changes.items()}
        return {
            "module_paths": dict(self.module_paths),
            "functions": lists,
            "changes": changes,
            "replaced": dict(self.replaced),
            "numbered": set(self.numbered),
            "weights_of": dict(self.weights_of),
            "steps": list(self.steps),
            "primitive_sequences": list(self.primitive_sequences),
            "asserted": self.asserted,
            "known": dict(self.kernel.functions),
        }

    def _restore(self, kept: dict[str, Any]) -> None:
        self.kernel.functions.clear()
        self.kernel.functions.update(kept.pop("known"))
        for name, value in kept.items():
            setattr(self, name, value)

    # --- modules -----------------------------------------------------------------------------

    def matched(self, pattern: str) -> list[Match]:
        """The modules with functions that a pattern names.

        Raises:
            HandleTypeError: the pattern is no text.
            UnknownHandleError: there is none; near misses are listed.
        """
        if not isinstance(pattern, str):
            raise HandleTypeError(
                f"A module path is a text such as 'blocks.*.mlp', not {shown(pattern)}.",
                place_of_caller(),
                help='loops and arrays are named after the path, as in s["fc1"].pipeline("k1").',
            )
        found = matches(pattern, self.functions)
        if not found:
            empty = [path for path in self.origin.kinds() if path not in self.functions]
            raise unmatched(pattern, self.functions, empty, place_of_caller())
        return found

    def note(self, path: str, text: str) -> None:
        """Keep what a step made of a module, for ``explain``."""
        self.changes.setdefault(path, []).append(text)


def call_text(function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """A call as it is written."""
    given = [_spelled(value) for value in args]
    given += [f"{name}={_spelled(value)}" for name, value in kwargs.items()]
    return f"{function}({', '.join(given)})"


def _spelled(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if callable(value):
        return str(getattr(value, "__name__", shown(value)))
    return shown(value)
