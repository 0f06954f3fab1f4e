"""Units of floats with a constant operand."""
