"""Networks, kernels of one function a layer: which calls share a function, and which have their own."""

from .instances import Layers, arranged

__all__ = ["Layers", "arranged"]
