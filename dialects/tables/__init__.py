"""Functions of bits as networks of lookup tables of few inputs."""
