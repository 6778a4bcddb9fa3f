"""What a graph is, where it comes from and how it is split."""
