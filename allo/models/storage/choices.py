"""Where weights are: constants, or arguments and so outside memory; and in which order their elements."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from allo.dialects.diagnostics import ModelError
from allo.schedule.near import suggestion

from ..modules.paths import matches


@dataclass(frozen=True, slots=True)
class Storage:
    """The choices for the weights of a model.

    Attributes:
        arguments: True: all weights are arguments; else patterns of the paths of those that are.
        layouts: for patterns of paths, the order in which the dimensions of a weight are stored.
    """

    arguments: bool | Sequence[str] = False
    layouts: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def any_arguments(self) -> bool:
        """Whether any weight may be an argument."""
        return bool(self.arguments)

    def check(self, paths: Collection[str]) -> None:
        """Refuse patterns that name none of these weights.

        Raises:
            ModelError: for the first such pattern.
        """
        chosen = [] if isinstance(self.arguments, bool) else list(self.arguments)
        for option, patterns in (("weights_as_args", chosen), ("layouts", list(self.layouts))):
            for pattern in patterns:
                if not isinstance(pattern, str) or not matches(pattern, paths):
                    raise ModelError(
                        f"{option} has {pattern!r}, which names no weight of the model.",
                        help=suggestion(str(pattern), sorted(paths), "its weights are"),
                    )

    def is_argument(self, path: str) -> bool:
        """Whether the weight of a path is an argument."""
        if isinstance(self.arguments, bool):
            return self.arguments
        return any(matches(pattern, [path]) for pattern in self.arguments)

    def order(self, path: str, shape: Sequence[int]) -> tuple[int, ...] | None:
        """The order of the dimensions in memory; None where it is that of the model.

        Raises:
            ModelError: when what was given is no order of the dimensions.
        """
        found = next((o for p, o in self.layouts.items() if matches(p, [path])), None)
        if found is None:
            return None
        order = tuple(found)
        if sorted(order) != list(range(len(shape))):
            raise ModelError(
                f"The layout of {path!r} is {order}, and the weight has {len(shape)} dimensions.",
                help=f"give their numbers in the order of storage, such as {tuple(range(len(shape)))}.",
            )
        return order
