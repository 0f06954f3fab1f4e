"""What a family of models needs of its own on the wide accelerator: shapes of its jobs, and kernels."""
