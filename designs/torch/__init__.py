"""Models from PyTorch with their schedules; they need the extra ``torch``."""
