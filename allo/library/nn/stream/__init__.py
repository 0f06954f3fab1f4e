"""Streaming layers of quantised networks: units that take and give words of streams, side by side.

Each unit is a kernel with a default schedule. :class:`Network` joins units by streams to a dataflow region;
:func:`assemble` makes one of layers, with the foldings that :func:`choose` finds for a rate.
"""

from .assemble import assemble
from .concat import concat
from .ends import Operand, Rounding, add, requantise
from .foldings.choose import Target, choose, latency
from .layers import Border, Concat, Fold, Function, Layer, Pool, Product, Signs, Sum, Whole
from .network import Network
from .pools import pooled
from .products import any_matrix_vector, by_channel, folded_words, matrix_vector, sum_bits
from .results import lookup, scaled, sink
from .shapes import INT8, Element, Window
from .signs import signs
from .steps import Steps, steps
from .whole import whole
from .windows import window
from .words import fork, resize, source, thin, words

__all__ = [
    "INT8",
    "Border",
    "Concat",
    "Element",
    "Fold",
    "Function",
    "Layer",
    "Network",
    "Operand",
    "Pool",
    "Product",
    "Rounding",
    "Signs",
    "Steps",
    "Sum",
    "Target",
    "Whole",
    "Window",
    "add",
    "any_matrix_vector",
    "assemble",
    "by_channel",
    "choose",
    "concat",
    "folded_words",
    "fork",
    "latency",
    "lookup",
    "matrix_vector",
    "pooled",
    "requantise",
    "resize",
    "scaled",
    "signs",
    "sink",
    "source",
    "steps",
    "sum_bits",
    "thin",
    "whole",
    "window",
    "words",
]
