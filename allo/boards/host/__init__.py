"""The host's side of a board: frames, a serial port, and calls."""

from .device import Device, connect

__all__ = ["Device", "connect"]
