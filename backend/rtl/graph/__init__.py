"""The compiler's own graph of a function, and what is true of it."""
