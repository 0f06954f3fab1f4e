"""Faults planted in the hardware of wrappers, to show that the models of buses see them."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest

from allo.backend.rtl.interfaces import shell
from allo.backend.rtl.interfaces.beside import serve
from allo.backend.rtl.interfaces.buses import clients, copies, gang


def plant(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, old: str, new: str, *names: str
) -> None:
    """Let the shell use functions of a module in whose source some words are others."""
    source = inspect.getsource(module)
    assert source.count(old) == 1, f"the fault is stale: {old!r} occurs {source.count(old)} times"
    space = {"__name__": module.__name__, "__package__": module.__package__}
    exec(compile(source.replace(old, new), module.__file__ or "", "exec"), space)
    for name in names:
        for user in (shell, serve, gang, copies, clients):
            if hasattr(user, name):
                monkeypatch.setattr(user, name, space[name])
