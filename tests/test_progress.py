import pytest

from bes.progress import iterations

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
