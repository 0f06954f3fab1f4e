"""``allo.interpret``: run a kernel from its source, by the rules of the documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from allo.dialects.diagnostics import UndefinedReadError

from . import instances
from .expressions.scalar_expressions import expression, operate
from .known import Declared
from .names import running_frames
from .program import Language, Program
from .running.arrays import Array
from .running.boundary import Binding, positional, results
from .running.runtime import Runtime


class Interpreted:
    """A kernel that runs as its source says.

    Called like a built module: NumPy arrays are changed in place, results returned. Stateful
    variables keep their values from call to call.

    Attributes:
        inexact: the kernel uses a function such as ``exp``. Here it is rounded correctly, and the
            compiler may be off by up to 2 ulp (docs/float.md).
        steps: loop iterations of the last call.
        text: the Python text that the kernel was translated to.
        words: how many words each stream argument passed in the last call.
    """

    def __init__(self, program: Program, instance: Any) -> None:
        self._program = program
        self._instance = instance
        self.inexact: bool = program.inexact
        self.text = "\n".join(program.text)
        self.__name__ = instance.name
        self.words: dict[str, int] = {}

    @property
    def steps(self) -> int:
        """Loop iterations of the last call."""
        return self._program.runtime.steps

    def __call__(self, *values: Any, **named: Any) -> Any:
        """Run the kernel on arguments by position or name; those with a default may be left out.

        Raises:
            BoundaryError: arguments that do not fit.
            BoundsError: a subscript out of range.
            UndefinedReadError: a variable or element that was never written is read.
            StepsExceededError: more loop iterations than ``max_steps``.
            DeadlockError: processes of a region wait for each other.
            SimulationError: a failed assertion.
        """
        binding = Binding(self._instance, positional(self._instance, values, named))
        self._program.runtime.steps = 0
        function = self._program.space[self._instance.python]
        found = function(*binding.arguments)
        binding.write_back()
        self.words = binding.words
        self._check(found)
        return results(found, self._instance.results)

    def _check(self, found: Any) -> None:
        said: list[Declared] = self._instance.results
        parts = found if len(said) > 1 else (found,)
        for part in parts:
            if isinstance(part, Array) and None in part.data:
                raise UndefinedReadError(
                    f"{self._instance.name} returns an array of which element "
                    f"{part.data.index(None)}, counted row by row, was never written.",
                    self._instance.place,
                    help="fill the array where it is declared.",
                )

    def reset(self) -> None:
        """Give stateful variables their first values again, as a new build would."""
        self._program.reset()


def translate(
    kernel: Callable[..., Any] | str,
    instantiate: Sequence[Any] | None,
    global_vars: Mapping[str, Any] | None,
    max_steps: int | None,
) -> Interpreted:
    """The work of :func:`allo.interpret.interpret`."""
    language = Language(expression, operate, instances.call)
    program = Program(language, Runtime(max_steps), running_frames(), global_vars)
    instance = instances.top(program, kernel, instantiate or ())
    program.load()
    program.frames = []
    return Interpreted(program, instance)
