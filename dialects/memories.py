"""Kinds of memory, as the memory space of an array's type numbers them: resource × 16 + storage."""

from __future__ import annotations

RESOURCES = ("AUTO", "BRAM", "URAM", "LUTRAM", "SRL")
STORAGE_TYPES = (
    "RAM_1P",
    "RAM_2P",
    "RAM_T2P",
    "RAM_1WNR",
    "RAM_S2P",
    "ROM_1P",
    "ROM_2P",
    "ROM_NP",
)
_STORAGE_CODES = 16


def space_of(resource: str, storage: str | None) -> int:
    """The number of a resource and a kind of storage; of none it is 0 × 16 + 0."""
    code = 0 if storage is None else STORAGE_TYPES.index(storage) + 1
    return RESOURCES.index(resource) * _STORAGE_CODES + code


def kinds_of(space: int) -> tuple[str, str | None]:
    """Resource and kind of storage of a number.

    Raises:
        ValueError: it is the number of none.
    """
    resource, storage = divmod(space, _STORAGE_CODES)
    if not 0 <= resource < len(RESOURCES) or storage > len(STORAGE_TYPES):
        raise ValueError(f"{space} is not a memory space of Allo.")
    return RESOURCES[resource], STORAGE_TYPES[storage - 1] if storage else None
