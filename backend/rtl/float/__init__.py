"""Generated IEEE-754 arithmetic of any exponent and mantissa width, drawn as netlists."""
