"""Exceptions of the HLS back end; each is also the exception published programs catch."""

from __future__ import annotations

from allo.dialects.diagnostics import BuildError, OptionError


class UnsupportedDeviceError(BuildError, RuntimeError):
    """A device or board that no table names."""


class HlsInterfaceError(BuildError, RuntimeError):
    """A top function whose parameters cannot become the ports of a kernel."""


class ReservedNameError(BuildError, AssertionError):
    """A name that the generated project needs for itself."""


class HlsConfigError(OptionError):
    """A key of ``configs`` with a value of the wrong kind."""


class MemorySplitError(BuildError):
    """An array that cannot be split over the memories that ``hbm_mapping`` gives it."""


class UnknownPartError(MemorySplitError):
    """An access that may be in several of the memories of a split array."""
