from labelnoise.methods.base import build
from labelnoise.testing import Silent, training


class Listening(Silent):
    """Keeps what it hears in order."""

    def __init__(self):
        super().__init__()
        self.heard = []

    def stepped(self, epoch, step, steps):
        self.heard.append(("step", epoch, step, steps))

    def judged(self, epoch, share):
        self.heard.append(("share", epoch, share))

    def finished_epoch(self, result):
        self.heard.append(("result", result.epoch))


def test_an_epoch_is_told_as_steps_then_its_evaluation_then_its_result():
    observer = Listening()
    training([build("ce")], seeds=[0], observer=observer).run()
    first = [event for event in observer.heard if event[1] == 0]
    kinds = [event[0] for event in first]
    steps = first[0][3]
    assert first[:steps] == [("step", 0, step, steps) for step in range(steps)]
    assert kinds[steps:] == ["share"] * (len(first) - steps - 1) + ["result"]
    shares = [event[2] for event in first[steps:-1]]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
