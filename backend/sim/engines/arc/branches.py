"""What an arc model does, as conditions inside each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from allo.backend.rtl._circt import ir

from .graph import Node, Write


@dataclass(slots=True, eq=False)
class Branch:
    """A condition, and what is done under it: operations, then inner branches, then writes.

    A branch inside another one that has no condition becomes a function.
    """

    condition: Node | None
    parent: Branch | None = None
    depth: int = 0
    position: int = 0
    inner: list[Branch] = field(default_factory=list)
    nodes: list[tuple[Node, ir.Operation]] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)

    def open(self, condition: Node | None) -> Branch:
        """A new branch inside this one."""
        branch = Branch(condition, self, self.depth + 1, len(self.inner))
        self.inner.append(branch)
        return branch

    def around(self) -> Iterator[Branch]:
        """This branch and those around it, from the inside."""
        branch: Branch | None = self
        while branch is not None:
            yield branch
            branch = branch.parent

    def all(self) -> Iterator[Branch]:
        """This branch and those inside."""
        yield self
        for branch in self.inner:
            yield from branch.all()


def meeting(a: Branch, b: Branch) -> tuple[Branch, Branch | None, Branch | None]:
    """The innermost branch around both, and the two branches in it on the way to each."""
    below_a = below_b = None
    while a is not b:
        if a.depth >= b.depth:
            assert a.parent is not None
            below_a, a = a, a.parent
        else:
            assert b.parent is not None
            below_b, b = b, b.parent
    return a, below_a, below_b
