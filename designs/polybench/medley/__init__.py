"""Dynamic programming, shortest paths, edge detection."""
