"""Schedules that are proved to be the best of one body, by OR-tools' CP-SAT: ``effort="exact"``.

* :mod:`program` writes the schedules of a body at one initiation interval as an integer program;
* :mod:`search` asks for the least interval, then the fewest cycles, then the smallest area;
* :mod:`proof` says of each loop how far the first schedule was from the best.
"""
