"""What annotations of variables evaluate to beside types: ``int32[M, N]``, ``T @ Stateful``."""

from __future__ import annotations

from typing import Any


class _StatefulMarker:
    """``T @ Stateful``: a variable that keeps its value between calls."""

    def __repr__(self) -> str:
        return "Stateful"


Stateful = _StatefulMarker()


class ArrayAnnotation:
    """What ``int32[M, N] @ decoration`` evaluates to when Python runs the annotation."""

    def __init__(
        self, dtype: Any, shape: tuple[Any, ...], decorations: tuple[object, ...] = ()
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self.decorations = decorations

    def __matmul__(self, decoration: object) -> ArrayAnnotation:
        return ArrayAnnotation(self.dtype, self.shape, (*self.decorations, decoration))

    def __getitem__(self, shape: Any) -> ArrayAnnotation:
        return ArrayAnnotation(self.dtype, shape if isinstance(shape, tuple) else (shape,))

    @property
    def stateful(self) -> bool:
        """Whether it is decorated ``@ Stateful``."""
        return any(decoration is Stateful for decoration in self.decorations)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayAnnotation) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.dtype, self.shape, self.decorations

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"
