"""Placement annotations: which memory holds an array, how an array is laid over a mesh."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from allo.dialects.memories import RESOURCES, STORAGE_TYPES, kinds_of, space_of

if TYPE_CHECKING:
    from allo.dialects.diagnostics import OptionError


def _refused(message: str) -> OptionError:
    """The exception for a wrong value; its class is loaded now, not when Allo is imported."""
    from allo.dialects.diagnostics import OptionError

    return OptionError(message)


class Memory:
    """The memory an array lives in: ``float32[32] @ Memory(resource="URAM")``.

    Args:
        resource: BRAM, URAM, LUTRAM, SRL or AUTO, in any case.
        storage_type: RAM_1P, RAM_2P … or None.
        latency: read latency in cycles, or None.
        depth: words, or None.

    Raises:
        ValueError: for a resource or storage type that does not exist.
    """

    def __init__(
        self,
        resource: str = "AUTO",
        storage_type: str | None = None,
        latency: int | None = None,
        depth: int | None = None,
    ) -> None:
        from allo.dialects.options import read_call

        given = {
            "resource": resource,
            "storage_type": storage_type,
            "latency": latency,
            "depth": depth,
        }
        chosen = read_call("Memory", given)
        self.resource: str = chosen["resource"].upper()
        self.storage_type: str | None = (chosen["storage_type"] or "").upper() or None
        self.latency: int | None = chosen["latency"]
        self.depth: int | None = chosen["depth"]
        if self.resource not in RESOURCES:
            raise _refused(f"Invalid resource {resource!r}; known: {', '.join(RESOURCES)}.")
        if self.storage_type is not None and self.storage_type not in STORAGE_TYPES:
            known = ", ".join(STORAGE_TYPES)
            raise _refused(f"Invalid storage_type {storage_type!r}; known: {known}.")

    def _fields(self) -> tuple[Any, ...]:
        return self.resource, self.storage_type, self.latency, self.depth

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Memory) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def __repr__(self) -> str:
        parts = [f'resource="{self.resource}"']
        if self.storage_type is not None:
            parts.append(f'storage_type="{self.storage_type}"')
        if self.latency is not None:
            parts.append(f"latency={self.latency}")
        if self.depth is not None:
            parts.append(f"depth={self.depth}")
        return f"Memory({', '.join(parts)})"

    def get_memory_space(self) -> int:
        """The memory space of the MLIR type: resource code × 16 + storage code."""
        return space_of(self.resource, self.storage_type)


def decode_memory_space(space: int) -> Memory:
    """The Memory a memory space stands for; the inverse of ``get_memory_space``.

    Raises:
        ValueError: when it stands for none.
    """
    return Memory(*kinds_of(space))


# Plain classes: the module dataclasses takes a third of the time in which Allo is imported.
class Shard:
    """One dimension of an array, cut in equal parts along axis ``axis`` of the mesh."""

    __slots__ = ("_axis",)

    def __init__(self, axis: int) -> None:
        self._axis = axis

    @property
    def axis(self) -> int:
        """The mesh's axis."""
        return self._axis

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shard) and self.axis == other.axis

    def __hash__(self) -> int:
        return hash(self._axis)

    def __repr__(self) -> str:
        return f"Shard(axis={self._axis!r})"


class _Replicate:
    """A whole copy at every place of the mesh."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Replicate)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "R"


class Layout:
    """How an array lies over a mesh of kernels: one entry a dimension.

    ``S, R = Layout.Shard, Layout.Replicate``; ``int32[M, K] @ [S(0), R]``.
    """

    Shard: ClassVar[type[Shard]] = Shard
    Replicate: ClassVar[_Replicate] = _Replicate()

    def __init__(self, partitions: Sequence[Any]) -> None:
        if not isinstance(partitions, Sequence) or isinstance(partitions, str):
            raise _refused(f"A layout is a list of Shard(axis) and Replicate, not {partitions!r}.")
        for part in partitions:
            if not isinstance(part, (Shard, _Replicate)):
                raise _refused(f"A layout is made of Shard(axis) and Replicate, not {part!r}.")
        self.partitions = tuple(partitions)

    def get_placement(
        self, mesh_dims: Sequence[int]
    ) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
        """Tile of the array to the mesh places that hold it; a replicated dimension has tile 0."""
        placement: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for place in itertools.product(*(range(d) for d in mesh_dims)):
            tile = tuple(place[p.axis] if isinstance(p, Shard) else 0 for p in self.partitions)
            placement.setdefault(tile, []).append(place)
        return placement

    def local_shape(self, shape: Sequence[int], mesh_dims: Sequence[int]) -> tuple[int, ...]:
        """The extents of one tile."""
        return tuple(
            extent // mesh_dims[p.axis] if isinstance(p, Shard) else extent
            for extent, p in zip(shape, self.partitions, strict=True)
        )

    def __repr__(self) -> str:
        return f"Layout({list(self.partitions)})"


class DTensor:
    """An array distributed over a mesh."""

    def __init__(
        self,
        rank: int,
        mapping: Sequence[int] | None,
        shape: Sequence[int],
        dtype: Any,
        spec: Any,
        name: str | None = None,
        top_name: str | None = None,
    ) -> None:
        self.rank = rank
        self.mapping = tuple(mapping) if mapping is not None else None
        self.shape = tuple(shape)
        self.dtype = dtype
        self.name = name
        self.top_name = top_name
        self.memory = spec if isinstance(spec, Memory) else None
        self.layout = Layout(spec) if isinstance(spec, (list, tuple)) else None
        if isinstance(spec, Layout):
            self.layout = spec
        self.global_placement: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        if self.layout is not None and self.mapping is not None:
            self.global_placement = self.layout.get_placement(self.mapping)

    def get_local_shape(self) -> tuple[int, ...]:
        """The shape one kernel of the mesh sees."""
        if self.layout is None or self.mapping is None:
            return self.shape
        return self.layout.local_shape(self.shape, self.mapping)

    def __repr__(self) -> str:
        parts = [f"name={self.name}", f"shape={self.shape}", f"dtype={self.dtype}"]
        if self.layout is not None:
            parts.append(f"layout={self.layout}")
        if self.memory is not None:
            parts.append(f"memory={self.memory}")
        return f"DTensor({', '.join(parts)})"
