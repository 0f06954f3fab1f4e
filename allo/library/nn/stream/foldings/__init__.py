"""The folding of each layer of a network: for a rate, and for a latency."""
