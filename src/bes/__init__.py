"""Boundary Embedding Shaping."""
