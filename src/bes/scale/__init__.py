"""Graphs that one process does not hold: parts, halos, ranks."""
