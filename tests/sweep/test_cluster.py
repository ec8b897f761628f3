import os
import signal
import sys
from contextlib import suppress

import pytest

from labelnoise.errors import InputError
from labelnoise.sweep.cluster import _handler_kept, connected, imported


@pytest.mark.parametrize("address", ["auto", "127.0.0.1:1", "nowhere"])
def test_a_cluster_that_is_not_there_is_said_not_to_be(address, monkeypatch):
    pytest.importorskip("ray")

    def init(address, **_):  # as Ray does, but for a port, at which it would knock for minutes
        raise ConnectionError("Could not find any running Ray instance.")

    monkeypatch.setattr("ray.is_initialized", lambda: False)
    monkeypatch.setattr("ray.init", init)
    with pytest.raises(InputError) as caught, connected(address):
        pass
    assert str(caught.value).startswith(f"the Ray cluster at {address} cannot be used (")
    assert str(caught.value).endswith("); docs/cluster.md says how to start one, or leave --ray-address out")


def test_a_handler_of_signals_is_put_back_also_where_ray_cannot_be_started():
    before = signal.getsignal(signal.SIGUSR1)
    with suppress(OSError), _handler_kept(signal.SIGUSR1):
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        raise OSError
    assert signal.getsignal(signal.SIGUSR1) is before


@pytest.mark.parametrize(("before", "after"), [(None, "0"), ("1", "1")])
def test_usage_statistics_are_off_before_ray_is_imported_unless_they_are_asked_for(monkeypatch, before, after):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr(os, "environ", {} if before is None else {"RAY_USAGE_STATS_ENABLED": before})
    with suppress(InputError):
        imported()
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == after
