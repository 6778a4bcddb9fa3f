"""Convolutions, encoders and decoders."""
