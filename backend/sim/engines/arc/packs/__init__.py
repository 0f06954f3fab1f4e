"""Regions of many equal processes: the same signal of all instances is one word or vector."""
