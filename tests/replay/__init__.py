"""Schedules against their sources: bodies of RTL builds in tests are run as written and as scheduled.

``watcher`` stands between the compiler's steps, for pytest by ``plugin``. ``reading`` keeps what the source
said and the graph as it was read, ``values`` and ``floats`` compute nodes, ``memory`` and ``sides`` hold what
a run reads and writes, ``bodies`` runs one body both ways, ``regions`` walks a function. docs/reliability.md
says what it sees.
"""

from __future__ import annotations


class ReplayError(AssertionError):
    """A schedule does not do what its source says."""


class Unjudged(Exception):
    """The values drawn leave what the source defines, such as a subscript out of range."""
