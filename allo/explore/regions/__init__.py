"""What a search does for kernels with streams: cycles that data decide, and depths of FIFOs."""
