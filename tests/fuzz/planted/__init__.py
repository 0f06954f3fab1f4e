"""Faults planted in the compiler, to see that programs find them.

A fault is a change of a few words in one source file. It is made while the module is imported, in
a process of its own: the file on disk stays as it is.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, slots=True)
class Fault:
    """A rule of the compiler, switched off.

    Attributes:
        area: part of the compiler it lies in.
        module: the Python module whose source changes.
        before, after: the words, which occur once, and what they become.
        rule: what is no longer so.
        targets: where programs are run to see it.
        only: a feature that programs need to see it, where most have not.
    """

    name: str
    area: str
    module: str
    before: str
    after: str
    rule: str
    targets: tuple[str, ...]
    only: str | None = None

    @property
    def file(self) -> Path:
        return ROOT / Path(*self.module.split(".")).with_suffix(".py")


def plant(name: str) -> None:
    """Have this process import the compiler with a fault; call it before the compiler is imported.

    Raises:
        KeyError: there is no such fault.
        ValueError: its module is imported already.
    """
    from .faults import FAULTS

    fault = {f.name: f for f in FAULTS}[name]
    if fault.module in sys.modules:
        raise ValueError(f"{fault.module} is imported already: the fault {name} comes too late.")
    sys.meta_path.insert(0, _Finder(fault))


def changed(fault: Fault, source: str) -> str:
    """The source of the fault's module with the fault.

    Raises:
        ValueError: the words do not occur once: the compiler has changed, and the fault must follow.
    """
    count = source.count(fault.before)
    if count != 1:
        raise ValueError(
            f"The fault {fault.name} is stale: its words occur {count} times in {fault.module}."
        )
    return source.replace(fault.before, fault.after)


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module with a fault, and leaves no compiled file behind."""

    fault: Fault

    def get_code(self, fullname: str) -> CodeType:
        source = changed(self.fault, Path(self.path).read_text())
        return compile(source, self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> Any:
        if fullname != self._fault.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None:
            return None
        loader = _Loader(fullname, spec.origin)
        loader.fault = self._fault
        spec.loader = loader
        return spec
