"""Units of floats whose subnormals are zeros, where they are drawn otherwise than those that keep them."""
