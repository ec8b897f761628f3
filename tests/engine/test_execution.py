import os
import subprocess
import sys

import pytest
import torch
from torch import nn

from labelnoise import nets
from labelnoise.engine.execution import WORTH_COMPILING, Execution
from labelnoise.engine.lanes import Stacked
from labelnoise.errors import InputError
from labelnoise.nets.causal_generator import Generator

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


def lowered(net, precision, device=CUDA):
    found = nets.build(net, (1, 28, 28), 10)
    Execution(precision=precision).lower(nn.ModuleDict({"net": found}), device)
    return found.precision


@pytest.mark.parametrize(
    ("net", "precision", "expected"),
    [
        ("wrn_28_2", "auto", torch.bfloat16),
        ("lenet5", "auto", None),
        ("wrn_28_2", "float32", None),
        ("lenet5", "bfloat16", torch.bfloat16),
    ],
)
def test_features_are_in_bfloat16_where_it_is_safe_or_asked_for(net, precision, expected):
    assert lowered(net, precision) == expected


@pytest.mark.parametrize("precision", ["auto", "bfloat16"])
def test_a_cpu_computes_in_the_precision_of_the_weights(precision):
    assert lowered("wrn_28_2", precision, CPU) is None


def test_the_networks_that_make_images_are_in_bfloat16_but_for_their_heads():
    generator = Generator((1, 28, 28), 10, 25, squashed=True)
    Execution().lower(generator, CUDA)
    inner = (generator.z_encoder.trunk, generator.x_decoder, generator.t_decoder.trunk)
    assert [each.precision for each in inner] == [torch.bfloat16] * 3
    assert not hasattr(generator.z_encoder, "precision")


def test_of_packs_classifiers_alone_are_in_bfloat16():
    generator, classifier = Generator((1, 28, 28), 10, 25, squashed=True), nets.build("wrn_28_2", (1, 28, 28), 10)
    Execution().lower(nn.ModuleDict({"generator": generator, "classifier": classifier}), CUDA, Stacked.lowers)
    assert (generator.x_decoder.precision, classifier.precision) == (None, torch.bfloat16)


@pytest.mark.parametrize(("given", "expected"), [({}, "32"), ({"CUDA_DEVICE_MAX_CONNECTIONS": "1"}, "1")])
def test_a_gpu_has_a_queue_for_every_run_unless_told_otherwise(given, expected):
    name = "CUDA_DEVICE_MAX_CONNECTIONS"
    others = {key: value for key, value in os.environ.items() if key != name}
    code = f"import os, labelnoise.engine.execution; print(os.environ['{name}'])"
    told = subprocess.run([sys.executable, "-c", code], env=others | given, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == expected


def test_an_unknown_precision_is_refused():
    with pytest.raises(InputError, match="unknown precision 'bfloat'; did you mean 'bfloat16'"):
        Execution(precision="bfloat")


@pytest.mark.parametrize(
    ("execution", "device", "steps", "expected"),
    [
        (Execution(), CUDA, WORTH_COMPILING, True),
        (Execution(), CUDA, WORTH_COMPILING - 1, False),
        (Execution(), CPU, WORTH_COMPILING, False),
        (Execution(eager=True), CUDA, WORTH_COMPILING, False),
    ],
)
def test_long_trainings_on_a_gpu_are_compiled(monkeypatch, execution, device, steps, expected):
    monkeypatch.setattr("labelnoise.engine.execution.has_triton", lambda: True)
    assert execution.compiles(device, steps) is expected


def test_without_a_compiler_nothing_is_compiled(monkeypatch):
    monkeypatch.setattr("labelnoise.engine.execution.has_triton", lambda: False)
    assert not Execution().compiles(CUDA, WORTH_COMPILING)


def settings():
    cuda, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    return cuda.allow_tf32, cudnn.allow_tf32, cudnn.benchmark, torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize(
    ("execution", "expected"),
    [
        (Execution(), (True, True, True, False)),
        (Execution(precision="float32"), (False, False, True, False)),
        (Execution(deterministic=True), (True, True, False, True)),
    ],
)
def test_torch_is_set_for_a_training_and_left_as_it_was(monkeypatch, execution, expected):
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    before = settings()
    with execution.settings(CUDA):
        assert settings() == expected
    assert settings() == before


def test_torch_is_left_as_it_was_after_a_failure(monkeypatch):
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    before = settings()
    with pytest.raises(RuntimeError), Execution(deterministic=True).settings(CUDA):
        raise RuntimeError
    assert settings() == before
