"""Affine loops and accesses: rewriting their maps, and polyhedral questions asked of islpy.

* :mod:`maps` rewrites affine maps and their operands in place;
* :mod:`loops` builds and inspects ``affine.for`` nests;
* :mod:`model` states a piece of core IR as statements, domains and accesses;
* :mod:`isl` is islpy, imported when it is first asked;
* :mod:`dependence` answers "does this new order break a dependence?" exactly.
"""
