from io import StringIO

import pytest
from rich.console import Console

from bes.progress import SeedsBar, iterations, track

ROW = {"layer": 2, "loss": 1.5, "displacement": 0.25, "accepted": True}


def test_the_bar_tells_layer_loss_and_steps_kept(capsys: pytest.CaptureFixture[str]) -> None:
    with iterations(2, show=True) as report:
        report(ROW)
        report({**ROW, "accepted": False})
    text = " ".join(capsys.readouterr().out.split())
    assert "shaping" in text
    assert "2/2" in text
    assert "layer 2 loss 1.5 displacement 0.25 kept 1" in text


def test_silence(capsys: pytest.CaptureFixture[str]) -> None:
    with iterations(2, show=False) as report:
        report(ROW)
    assert capsys.readouterr() == ("", "")


def terminal() -> Console:
    return Console(file=StringIO(), force_terminal=True, width=120)


def shown(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_the_bar_over_seeds_moves_within_a_seed() -> None:
    console = terminal()
    with SeedsBar(2, 10, console, show=True) as bar:
        bar.seeds(0, 2)
        step = bar.watch("encoder gcn", 5)
        for epoch in range(5):
            step(epoch, None, {})
        assert bar.done == pytest.approx(0.5)
        for epoch in range(50):  # more steps than expected never finish the seed
            step(epoch, None, {})
        assert bar.done < 1
        bar.seeds(1, 2)
        assert bar.done == 1
        bar.watch("decoder of bes", 5)(0, None, {})
    text = shown(console)
    assert "decoder of bes" in text
    assert "seed 2/2" in text
    assert "left" in text


def test_the_bar_over_seeds_is_silent_when_asked_and_off_a_terminal() -> None:
    for console, show in ((terminal(), False), (Console(file=StringIO()), True)):
        with SeedsBar(1, 1, console, show=show) as bar:
            bar.seeds(0, 1)
            bar.watch("decoder", 1)(0, None, {})
        assert shown(console) == ""


def test_items_are_tracked_at_a_terminal_only() -> None:
    console, silent = terminal(), Console(file=StringIO())
    assert list(track([1, 2], "data sets", console, show=True)) == [1, 2]
    assert "data sets" in shown(console)
    assert list(track([1, 2], "data sets", silent, show=True)) == [1, 2]
    assert shown(silent) == ""
