"""The networks as processes with FIFOs between them, for the depths that they need."""
