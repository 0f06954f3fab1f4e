"""Models that PyTorch's export quantisation (PT2E) has converted, as graphs of integers."""
