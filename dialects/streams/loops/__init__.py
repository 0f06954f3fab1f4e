"""The tasks of a loop: which may run at once, in which of its iterations."""
