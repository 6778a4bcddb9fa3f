import pytest

from bes.tasks.guard import Guard


def test_an_arm_opens_once_and_says_so() -> None:
    guard = Guard()
    guard.open("control")
    guard.open("bes")  # another arm
    for arm in ("control", "bes"):
        with pytest.raises(RuntimeError, match=rf"^The test part was already opened for arm '{arm}'\.$"):
            guard.open(arm)
    Guard().open("control")  # another run
