"""What operations are made of: multiplier blocks or lookup tables, alone or several in a block."""
