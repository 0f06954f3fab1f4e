"""The kernels of PolyBench for which Prometheus publishes no time, from external memory."""
