from bes.report.figures import COLORS, SYMBOLS, class_style


def test_as_many_classes_as_colours_and_symbols_allow_look_different() -> None:
    styles = [class_style(c) for c in range(len(COLORS) * SYMBOLS)]
    assert len(set(styles)) == len(styles)
    assert all(0 <= symbol < SYMBOLS for _, symbol in map(class_style, range(200)))
    assert len({colour for colour, _ in styles[: len(COLORS)]}) == len(COLORS)
    assert len({symbol for _, symbol in styles[:SYMBOLS]}) == SYMBOLS, "colour is not the only sign"
