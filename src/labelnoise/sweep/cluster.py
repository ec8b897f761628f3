"""Ray itself, which nothing else imports, and a cluster of it: a running one, or one of this machine."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from labelnoise.errors import InputError
from labelnoise.methods.base import METHODS, Method
from labelnoise.methods.own import NEIGHBOURS

PATIENCE = 10.0  # seconds in which a cluster is to answer
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS_SKIP_REGEX": "."}  # what Ray would print of deaths, we say


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Ray with a cluster: the one at this address, or of no address one of this machine, which ends afterwards."""
    ray = imported()
    if ray.is_initialized():  # by the program that calls us, whose connection it stays
        yield ray
        return
    with _temporary() if not address else nullcontext() as folder:
        where = (
            {"address": address} if address else {"address": "local", "include_dashboard": False, "_temp_dir": folder}
        )
        try:
            _check_reachable(address)
            with _handler_kept(signal.SIGTERM):
                ray.init(**where, log_to_driver=False, logging_level="error")
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as problem:
            what = f"the Ray cluster at {address}" if address else "Ray"
            advice = "docs/cluster.md says how to start one, or leave --ray-address out" if address else "mend that"
            raise InputError(f"{what} cannot be used ({last_line(problem).rstrip('.')}); {advice}") from None
        try:
            yield ray
        finally:
            ray.shutdown()


class Raylet:
    """Ray's own process on this machine; a few seconds after its end, Ray ends this one too, without a word.

    Its end is heard on a line to its socket. Where it has none that can be reached, as from outside a cluster, it never
    counts as dead.
    """

    def __init__(self, ray: Any) -> None:
        self._line = None
        with suppress(OSError, KeyError, StopIteration, AttributeError):  # systems without such sockets have no AF_UNIX
            self._line = _line_to(_socket_of(ray))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._line is not None:
            self._line.close()

    @property
    def died(self) -> bool:
        """Whether it is there no more."""
        if self._line is None:
            return False
        try:
            return self._line.recv(1) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True


def _socket_of(ray: Any) -> str:
    here = ray.get_runtime_context().get_node_id()
    return next(str(node["RayletSocketName"]) for node in ray.nodes() if node["NodeID"] == here)


def _line_to(path: str) -> socket.socket:
    # on which nothing is ever said
    line = socket.socket(socket.AF_UNIX)
    try:
        line.connect(path)
    except OSError:
        line.close()
        raise
    line.setblocking(False)
    return line


def _check_reachable(address: str) -> None:
    # Ray itself would try for minutes.
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()


@contextmanager
def _handler_kept(number: int) -> Iterator[None]:
    # Ray sets a handler of its own for SIGTERM.
    before = signal.getsignal(number)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(number, before)


@contextmanager
def by_value(ray: Any) -> Iterator[dict[str, type[Method]]]:
    """Methods from files of the user's, which no worker could import: meanwhile they travel with their code."""
    own = {name: METHODS.get(name) for name in METHODS if not METHODS.get(name).__module__.startswith("labelnoise.")}
    modules = [sys.modules[name] for name in {cls.__module__ for cls in own.values()} | NEIGHBOURS.keys()]
    for module in modules:
        ray.cloudpickle.register_pickle_by_value(module)
    try:
        yield own
    finally:
        for module in modules:
            ray.cloudpickle.unregister_pickle_by_value(module)


def imported() -> Any:
    """Ray, told to keep quiet, or a sentence on how to get it."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise InputError("the engine ray needs a package more; install it with `pip install labelnoise[ray]`") from None
    return ray


def _temporary() -> TemporaryDirectory[str]:
    # Names of sockets in it must be short, which they would not be in a Mac's folder for temporary files.
    place = "/tmp" if Path("/tmp").is_dir() else None
    return TemporaryDirectory(prefix="ln-", dir=place, ignore_cleanup_errors=True)


def last_line(problem: Exception) -> str:
    """What an error ends with, which of Ray's is what happened."""
    lines = str(problem).strip().splitlines()
    return lines[-1].strip() if lines else type(problem).__name__
