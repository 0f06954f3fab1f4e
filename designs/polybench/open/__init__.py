"""Small int32 kernels at the sizes of published open flows: plain source, and schedules of a few lines."""
