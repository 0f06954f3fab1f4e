"""Regions in time: the cycles of processes and FIFOs, foretold from their schedules."""
