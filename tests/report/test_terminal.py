from io import StringIO

import pytest
from rich.console import Console

from labelnoise.report import terminal
from labelnoise.report.terminal import Terminal


def shown(*, terminal=False, quiet=False, done=0):
    """Everything that a pack of three runs prints, with a note on the way."""
    text, errors = StringIO(), StringIO()
    console = Console(file=text, width=60, force_terminal=terminal)
    with Terminal(console, quiet=quiet, errors=Console(file=errors)) as display:
        display.expect(2)
        display.begin("co_teaching", 3, 4, done)
        for epoch in range(done, 4):
            for step in range(4):
                display.tick(epoch, step, 4)
            display.judge(epoch, 1.0)
        display.say("a note in [brackets] that is longer than the terminal is wide, by far, it seems")
        display.warn("a warning")
        display.end(4)
    return text.getvalue(), errors.getvalue()


def test_piped_it_prints_plain_lines():
    text, errors = shown()
    note, warning, line = text.splitlines()
    assert note == "a note in [brackets] that is longer than the terminal is wide, by far, it seems"
    assert warning == "a warning"
    assert line.startswith("1/2 co_teaching × 3: 4 epochs in ")
    assert "\x1b" not in text
    assert errors == ""


@pytest.mark.parametrize("terminal", [False, True])
def test_packs_that_take_the_place_of_one_are_counted_instead_of_it(terminal):
    text = StringIO()
    with Terminal(Console(file=text, width=60, force_terminal=terminal)) as display:
        display.expect(2)
        display.begin("ce", 4, 2, 0)
        display.give_up(2)
        display.begin("ce", 2, 2, 0)
        display.end(2)
        display.give_up(0)  # of one that had not begun
        display.begin("gce", 4, 2, 0)
        display.end(2)
        names = [task.description.strip() for task in display.bars.tasks]
    assert names == ["1/3 ce × 2", "2/2 gce × 4"]


def test_a_pack_that_goes_on_says_where_and_counts_only_what_it_does():
    lines = shown(done=3)[0].splitlines()
    assert lines[0] == "1/2 co_teaching × 3: goes on from epoch 4"
    assert lines[-1].startswith("1/2 co_teaching × 3: 1 epoch in ")


def test_piped_long_work_shows_now_and_then_how_much_is_left(monkeypatch):
    clock = iter([100.0, *(100.0 + 20 * event for event in range(1, 21)), 520.0])
    monkeypatch.setattr(terminal.time, "perf_counter", lambda: next(clock))
    lines = [line for line in shown()[0].splitlines() if " left" in line]
    assert lines[0] == "1/2 co_teaching × 3: epoch 1 of 4, about 6 min left"  # a quarter of the steps took 20 s
    assert lines[-1] == "1/2 co_teaching × 3: epoch 4 of 4, about 0.0 s left"
    assert len(lines) == 10


def test_a_first_step_that_waits_for_a_compiler_tells_nothing_of_the_pace(monkeypatch):
    clock = iter([0.0, 95.0, 96.0, 130.0])
    monkeypatch.setattr(terminal.time, "perf_counter", lambda: next(clock))
    text = StringIO()
    display = Terminal(Console(file=text, width=80))
    display.expect(1)
    display.begin("ce", 9, 200, 0)
    for step in (0, 1, 35):
        display.tick(0, step, 75)
    assert text.getvalue().splitlines() == [
        "1/1 ce × 9: epoch 1 of 200",
        "1/1 ce × 9: epoch 1 of 200, about 5.5 h left",  # 35 of 100 hundredths of an epoch in 35 s
    ]


def test_evaluation_counts_as_a_quarter_of_an_epoch(monkeypatch):
    clock = iter([0.0, 0.0, 75.0, 90.0, 130.0])
    monkeypatch.setattr(terminal.time, "perf_counter", lambda: next(clock))
    text = StringIO()
    display = Terminal(Console(file=text, width=80))
    display.expect(1)
    display.begin("ce", 1, 2, 0)
    display.tick(0, 0, 1000)
    display.tick(0, 9, 10)
    display.judge(0, 0.6)
    display.judge(0, 1.0)
    assert [line.split("about ")[1] for line in text.getvalue().splitlines()] == ["2 min left", "2 min left"]


def test_a_bar_moves_within_an_epoch():
    display = Terminal(Console(file=StringIO(), force_terminal=True))
    with display:
        display.expect(1)
        display.begin("ce", 1, 2, 0)
        display.tick(0, 1, 4)
        assert display.bars.tasks[0].completed == 0.375
        display.judge(1, 0.5)
        assert display.bars.tasks[0].completed == 1.875


def test_on_a_terminal_it_shows_a_bar_and_the_note():
    text, _ = shown(terminal=True)
    assert "\x1b" in text
    assert "4/4" in text
    assert "a note in [brackets]" in text
    assert "epochs in" not in text


@pytest.mark.parametrize("terminal", [False, True])
def test_quiet_it_prints_warnings_alone_and_among_the_errors(terminal):
    assert shown(terminal=terminal, quiet=True) == ("", "a warning\n")


def test_the_bar_ends_with_the_work():
    display = Terminal(Console(file=StringIO(), force_terminal=True))
    with display:
        display.expect(1)
        display.begin("ce", 1, 1, 0)
        assert display.bars.live.is_started
    assert not display.bars.live.is_started
