"""Placeholder."""

def run_batch(job, tell):
    raise NotImplementedError
