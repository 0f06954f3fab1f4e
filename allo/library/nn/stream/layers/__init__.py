"""Layers of networks as they are folded: what each folding takes, and the units that it becomes."""

from .base import Fold, Layer
from .functions import Function, Whole
from .joins import Concat, Join, Sum
from .pools import Border, Pool
from .products import Product
from .signs import Signs

__all__ = [
    "Border",
    "Concat",
    "Fold",
    "Function",
    "Join",
    "Layer",
    "Pool",
    "Product",
    "Signs",
    "Sum",
    "Whole",
]
