"""Neural networks as plain kernels, one function a layer and no schedule, for ``allo.autoschedule``.

Each module offers its kernels, and for each a :class:`~.network.Network`: arguments, a NumPy reference and
the number of multiplications.
"""
