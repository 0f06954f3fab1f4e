"""Schedules by module path: sub-schedules, and steps that are verified against the model."""
