"""Allo: an accelerator design language and HLS compiler in Python."""

__version__ = "0.1.0"
