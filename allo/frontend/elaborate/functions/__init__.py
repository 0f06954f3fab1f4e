"""Functions while elaborating: instances, annotations, regions, calls of kernels, results."""
