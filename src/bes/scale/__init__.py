"""Graphs that are too large for one piece: parts, their batches, and what memory they need."""
