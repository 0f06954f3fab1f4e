"""Arrays that are FIFOs: how a type says it, which processes they join, and whether that works."""
