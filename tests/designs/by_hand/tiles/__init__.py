"""What the schedules of a budget share: how much of a kernel is computed at once, and its loops and banks."""
