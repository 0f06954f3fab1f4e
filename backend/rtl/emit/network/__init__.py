"""A dataflow region as a module: instances of its kernels, FIFOs between them, ports they share."""
