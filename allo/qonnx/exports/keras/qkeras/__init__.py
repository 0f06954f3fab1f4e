"""Networks of QKeras, from a model of Keras 2 or a file of one, without QKeras and TensorFlow.

QKeras (Coelho et al., *Automatic heterogeneous quantization of deep neural networks for low-latency inference
on the edge for particle detectors*, 2021) gives layers of Keras quantisers for weights and activations.
"""

from __future__ import annotations

from .files import opened
from .network import taken
from .walk import written
from .writing import QWriter

__all__ = ["QWriter", "opened", "taken", "written"]
