"""Graphs that are too large for one piece: parts, halos, ranks, and what memory they need."""
