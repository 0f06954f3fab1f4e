"""Arrays that are copied in while the core runs."""
