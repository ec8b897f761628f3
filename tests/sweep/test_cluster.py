import os
import signal
import socket
import sys
from contextlib import suppress
from types import SimpleNamespace

import pytest

from labelnoise.errors import InputError
from labelnoise.sweep.cluster import Raylet, _handler_kept, connected, imported


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


def test_the_end_of_rays_own_process_on_this_machine_is_heard_at_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets must be short
    nodes = [{"NodeID": name, "RayletSocketName": name} for name in ("other", "here")]
    context = SimpleNamespace(get_node_id=lambda: "here")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("here")
        server.listen()
        with Raylet(SimpleNamespace(nodes=lambda: nodes, get_runtime_context=lambda: context)) as raylet:
            theirs, _ = server.accept()
            assert not raylet.died
            theirs.close()
            assert raylet.died


@pytest.mark.parametrize(
    "nodes",
    [[], [{"NodeID": "here"}], [{"NodeID": "here", "RayletSocketName": "/nowhere"}]],
    ids=["unknown", "without a socket", "out of reach"],
)
def test_where_rays_own_process_cannot_be_reached_it_never_counts_as_dead(nodes):
    context = SimpleNamespace(get_node_id=lambda: "here")
    with Raylet(SimpleNamespace(nodes=lambda: nodes, get_runtime_context=lambda: context)) as raylet:
        assert not raylet.died
