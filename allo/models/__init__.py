"""Models of neural networks as graphs: what every importer fills, and what lowers it to kernels.

An importer (``allo.torch``, ``allo.tflite``, ``allo.qonnx``) reads a format into a
:class:`~allo.models.graph.Model`. :func:`~allo.models.compiled.schedule_of` makes a schedule of it.
"""
