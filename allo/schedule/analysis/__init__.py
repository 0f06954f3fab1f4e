"""What primitives ask and do in common: legality, buffers, windows, callees."""
