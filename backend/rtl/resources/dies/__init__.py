"""Processes in the dies of a device of several, and the wires between these."""
