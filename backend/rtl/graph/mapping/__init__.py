"""What operations are made of, multiplier blocks or lookup tables, and what keeps an array a memory block."""
