from functools import partial

import pytest
import torch

from labelnoise.config import Optimiser
from labelnoise.engine.executors import EXECUTORS
from labelnoise.engine.used import used
from labelnoise.methods import build
from labelnoise.nets import build as build_net
from labelnoise.types import DataSpec

SPEC = DataSpec((4,), 3, 30, partial(build_net, "mlp", (4,), settings={"widths": "5"}))
BODY = {f"weights|nets.net.body.1.{kind}" for kind in ("weight", "bias")}
HEAD = {f"weights|nets.net.head.{kind}" for kind in ("weight", "bias")}


def entered(executor, name, **settings):
    method = build(name, settings)
    runner = EXECUTORS[executor]([method] * 2, SPEC, (0, 1), torch.zeros(()))
    runner.enter(len(method.stages()) - 1, Optimiser())
    return runner


@pytest.mark.parametrize("executor", EXECUTORS)
def test_plain_networks_are_used_whole(executor):
    assert used(entered(executor, "ce").lanes[0]) == BODY | HEAD


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_head_that_only_the_loss_reads_is_not_used(executor):
    found = used(entered(executor, "logistic_normal").lanes[0])
    assert found == BODY | {f"weights|nets.net.head.mu.{kind}" for kind in ("weight", "bias")}


def test_of_student_and_teacher_only_the_student_is_used():
    assert used(entered("streams", "distillation").lanes[0]) == BODY | HEAD


def test_of_a_network_and_its_mean_only_the_mean_is_used():
    found = used(entered("streams", "noise_against_noise", average=0.9).lanes[0])
    assert found == {name.replace("net.", "mean.", 1) for name in BODY | HEAD}


def test_estimates_are_used_where_noisy_predictions_read_them_and_labels_kept_for_training_are_not():
    runner = entered("streams", "forward")
    runner.set_aux({"T": torch.eye(3).expand(2, 3, 3), "kept": torch.ones(2, 30), "place": torch.zeros(2).long()})
    assert used(runner.lanes[0]) == BODY | HEAD | {"aux|T"}


def test_buffers_of_a_network_that_is_read_are_used():
    spec = SPEC._replace(shape=(3, 8, 8), net=partial(build_net, "resnet32", (3, 8, 8)))
    runner = EXECUTORS["streams"]([build("co_teaching")], spec, (0,), torch.zeros(()))
    runner.enter(0, Optimiser())
    lane = runner.lanes[0]
    (read,) = {name.split(".")[1] for name in used(lane)}
    assert {name.removeprefix("weights|") for name in used(lane) if "running_mean" in name} == {
        name for name in lane.buffers if f"nets.{read}." in name and "running_mean" in name
    }


@pytest.mark.parametrize("executor", EXECUTORS)
def test_what_a_transition_by_input_reads_is_used_and_the_second_branch_is_not(executor):
    lane = entered(executor, "causal_nl").lanes[0]
    first = ("classifier_a", "generator_a")
    assert used(lane) == {f"weights|{name}" for name in lane.params if name.split(".")[1] in first}


def test_nothing_is_changed_by_looking():
    lane = entered("streams", "distillation").lanes[0]
    before = {name: (param.requires_grad, param.detach().clone()) for name, param in lane.params.items()}
    used(lane)
    for name, param in lane.params.items():
        assert param.requires_grad == before[name][0]
        assert param.grad is None
        assert torch.equal(param, before[name][1])
