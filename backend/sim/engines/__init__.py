"""The engines that run a design, and how their runs are watched."""
