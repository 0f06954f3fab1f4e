"""Models of the buses outside a wrapper, which stall at random and watch the rules."""
