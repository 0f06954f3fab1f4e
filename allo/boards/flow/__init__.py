"""From a design and a board to a bitstream: clock, constraints, tools, timing."""
