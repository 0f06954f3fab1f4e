"""From quantise and dequantise nodes, as PyTorch's export quantisation (PT2E) has them, to integers."""
