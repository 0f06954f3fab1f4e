"""Channels of dynamic memory: banks, rows, refresh, and a controller that reorders requests."""
