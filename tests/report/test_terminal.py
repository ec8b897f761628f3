from io import StringIO

import pytest
from rich.console import Console

from labelnoise.report.terminal import Display


def shown(*, terminal=False, quiet=False):
    """Everything that a pack of three runs prints, with a note on the way."""
    text = StringIO()
    console = Console(file=text, width=60, force_terminal=terminal)
    with Display(console, quiet=quiet) as display:
        display.begin("co_teaching", 3, 2)
        for epoch in range(2):
            for step in range(4):
                display.tick(epoch, step, 4)
        display.say("a note in [brackets] that is longer than the terminal is wide, by far, it seems")
        display.end()
    return text.getvalue()


def test_piped_it_prints_plain_lines():
    note, line = shown().splitlines()
    assert note == "a note in [brackets] that is longer than the terminal is wide, by far, it seems"
    assert line.startswith("co_teaching × 3: 2 epochs in ")
    assert "\x1b" not in shown()


def test_on_a_terminal_it_shows_a_bar_and_the_note():
    text = shown(terminal=True)
    assert "\x1b" in text
    assert "2/2" in text
    assert "a note in [brackets]" in text
    assert "epochs in" not in text


@pytest.mark.parametrize("terminal", [False, True])
def test_quiet_it_prints_nothing(terminal):
    assert shown(terminal=terminal, quiet=True) == ""


def test_the_bar_ends_with_the_work():
    display = Display(Console(file=StringIO(), force_terminal=True))
    with display:
        display.begin("ce", 1, 1)
        assert display.bars.live.is_started
    assert not display.bars.live.is_started
