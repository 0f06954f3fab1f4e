"""MachSuite kernels as designs: kernel, schedule and NumPy reference, one file each."""
