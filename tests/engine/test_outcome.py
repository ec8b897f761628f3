import weakref

from labelnoise.engine.outcome import Outcome


class Input:
    pass


def test_a_result_that_is_there_is_given():
    assert Outcome(3).get() == 3


def test_seen_otherwise_it_keeps_its_inputs():
    outcome = Outcome([1, 2, 3], inputs=(thing := Input())).seen(lambda result: result[:2])
    left = weakref.ref(thing)
    del thing
    assert left() is not None
    assert outcome.get() == [1, 2]
    assert left() is None


def test_inputs_are_kept_alive_until_someone_waits():
    outcome = Outcome(3, inputs=(thing := Input()))
    left = weakref.ref(thing)
    del thing
    assert left() is not None
    outcome.get()
    assert left() is None
