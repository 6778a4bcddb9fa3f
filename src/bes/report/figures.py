"""How classes look in a picture."""

#: Okabe and Ito's colours, told apart also by colour-blind readers; repeated after eight classes.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")

#: Symbols of the map, by their place in the page's script.
SYMBOLS = 8


def class_style(c: int) -> tuple[int, int]:
    """Colour and symbol of class `c`, by their numbers: colour is never the only sign, and 64 classes differ."""
    return c % len(COLORS), (c + c // len(COLORS)) % SYMBOLS
