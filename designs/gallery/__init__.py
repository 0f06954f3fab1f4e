"""A gallery of small designs, one file each: kernel, schedule, NumPy or plain Python reference, inputs."""
