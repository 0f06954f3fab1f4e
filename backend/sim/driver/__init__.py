"""The driver of a simulated design, generated as code."""
