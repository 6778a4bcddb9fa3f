"""What a run shows to people."""
