"""Networks as pictures."""
