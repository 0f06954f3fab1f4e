"""Registers that hold the addresses of a pipeline."""
