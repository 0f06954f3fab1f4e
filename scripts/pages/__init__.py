"""Pages of the documentation that programs write."""
