"""TFLite networks of int8 and int16 as designs: reader, conversion, and the integers they shall give.

The package ``tflite``, which holds the format's schema, is an optional extra; nothing here imports it
before a file is read.
"""

from __future__ import annotations

from .entry import from_tflite

__all__ = ["from_tflite"]
