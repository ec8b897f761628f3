import os
import signal
import threading

import pytest

from labelnoise.engine.interrupt import Interrupt, InterruptError


def send(number):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_noted_and_raised_when_asked_for(number):
    with Interrupt() as interrupt:
        interrupt.check()
        assert not interrupt.asked
        send(number)
        assert interrupt.asked
        with pytest.raises(InterruptError) as caught:
            interrupt.check()
    assert caught.value.number == number


@pytest.fixture
def ctrl_c():
    """Ctrl-C as in a terminal: what runs in the background may have been started with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_a_second_ctrl_c_acts_as_it_always_does():
    with Interrupt():
        send(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGINT)


def test_afterwards_signals_are_handled_as_before():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with Interrupt():
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_in_another_thread_nothing_is_changed_and_nothing_fails():
    asked = []

    def work():
        with Interrupt() as interrupt:
            interrupt.check()
            asked.append(interrupt.asked)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert asked == [False]
