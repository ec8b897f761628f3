import json

import click
import pytest
from click.testing import CliRunner

from labelnoise.cli_engine import cluster, engines, execution, executions
from labelnoise.engine.execution import Execution
from labelnoise.errors import InputError

NOTHING = {"ray_address": None, "packs_per_gpu": None, "runs_per_task": None}


@click.command()
@engines
def command(**options):
    click.echo(json.dumps(options))


@click.command()
@executions
def used(**options):
    click.echo(json.dumps(options))


def test_a_command_gets_the_options_of_several_machines():
    found = CliRunner().invoke(command, ["--engine", "ray", "--packs-per-gpu", "2"])
    assert json.loads(found.output) == NOTHING | {"engine": "ray", "packs_per_gpu": 2}


def test_a_command_gets_the_options_of_how_a_device_is_used():
    found = CliRunner().invoke(used, ["--precision", "float32", "--eager"])
    usual = {"executor": "auto", "device": "auto", "deterministic": False}
    assert json.loads(found.output) == usual | {"precision": "float32", "eager": True}


def test_an_executor_that_is_not_named_is_chosen():
    said = {"precision": "float32", "deterministic": True, "eager": False}
    assert execution(executor="auto", **said) == Execution(None, "float32", eager=False, deterministic=True)
    assert execution(executor="packed", **said).executor == "packed"


def test_locally_there_is_no_cluster():
    assert cluster("cpu", engine="local", **NOTHING) is None


def test_what_is_for_ray_needs_ray():
    with pytest.raises(InputError, match="go with --engine ray"):
        cluster("cpu", engine="local", **NOTHING | {"packs_per_gpu": 2})


def test_under_torchrun_there_is_no_ray(monkeypatch):
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match="torchrun and --engine ray both start processes"):
        cluster("cpu", engine="ray", **NOTHING)
