"""`bes explore`: a run's nodes on a map, in the browser."""

from bes.explore.server import make_server, serve

__all__ = ["make_server", "serve"]
