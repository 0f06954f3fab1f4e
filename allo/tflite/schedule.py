"""The default schedule of a TFLite network: pipelined inner loops, and sums of several channels at once."""

from __future__ import annotations

from allo.dialects.core.partition import Partition
from allo.models.schedule import ModelSchedule

from .network import Network, Node

LANES = 8
"""Channels of a layer whose sums hardware computes at once, where nothing else is asked for."""
_CHANNELS = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 0}
"""Of the weights: the dimension that the channels of the result are."""


def schedule_layers(s: ModelSchedule, network: Network, lanes: int) -> None:
    """Pipeline every inner loop; layers of products compute the sums of some channels at once.

    Args:
        s: of the network, unscheduled.
        network: the file.
        lanes: how many channels at most; each layer takes the greatest divisor of its channels.
    """
    for node in network.nodes:
        if node.kind in _CHANNELS and node.path in s.module_paths.values():
            _unroll(s, network, node, lanes)
    s["**"].pipeline()


def _unroll(s: ModelSchedule, network: Network, node: Node, lanes: int) -> None:
    source, weight = network.operand(node, 0), network.operand(node, 1)
    dim = _CHANNELS[node.kind]
    depthwise = node.kind == "DEPTHWISE_CONV_2D"
    # The loop over channels is the innermost: all of them, or those of a group, or of one channel read.
    channels = weight.shape[dim]
    if depthwise:
        many = channels // source.shape[3]
        inner, channels = ("k3", many) if many > 1 else ("k2", channels)
    elif node.kind == "CONV_2D":
        groups = source.shape[3] // weight.shape[3]
        inner, channels = ("k4", channels // groups) if groups > 1 else ("k3", channels)
    else:
        inner = "k1"
    count = next(n for n in range(min(lanes, channels), 0, -1) if channels % n == 0)
    if count == 1:
        return
    layer = s[node.path]
    layer.unroll(inner, factor=count)
    layer.unroll("j0", factor=count)
    layer.partition("weight", Partition.Cyclic, dim=dim + 1, factor=count)
    layer.partition("row", Partition.Cyclic, dim=1, factor=count)
    if network.optional(node, 2) is not None:
        layer.partition("bias", Partition.Cyclic, dim=1, factor=count)
    if depthwise and inner == "k2":
        layer.partition("x", Partition.Cyclic, dim=4, factor=count)
