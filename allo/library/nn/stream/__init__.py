"""Streaming layers of quantised networks: units that take and give words of streams, side by side.

Each unit is a kernel with a default schedule. :class:`Network` joins units by streams to a dataflow region;
:func:`assemble` makes one of layers, with the foldings that :func:`choose` finds for a rate.
"""

from .assemble import assemble
from .bits import Largest, Signs
from .ends import Rounding, add, requantise
from .foldings.choose import Target, choose, latency
from .layers import Fold, Layer, Product, Sum, Whole
from .network import Network
from .pools import largest
from .products import by_channel, matrix_vector, sum_bits
from .shapes import Window
from .signs import signs
from .whole import whole
from .windows import window
from .words import fork, lookup, resize, sink, source, thin

__all__ = [
    "Fold",
    "Largest",
    "Layer",
    "Network",
    "Product",
    "Rounding",
    "Signs",
    "Sum",
    "Target",
    "Whole",
    "Window",
    "add",
    "assemble",
    "by_channel",
    "choose",
    "fork",
    "largest",
    "latency",
    "lookup",
    "matrix_vector",
    "requantise",
    "resize",
    "signs",
    "sink",
    "source",
    "sum_bits",
    "thin",
    "whole",
    "window",
]
