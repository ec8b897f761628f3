"""What predictions depend on: a saved model needs no more."""

from functools import partial

import torch
from torch import Tensor

from labelnoise.engine.instance import instance_transition, learns_transition
from labelnoise.engine.lane import Lane
from labelnoise.engine.step import owner, prediction


def used(lane: Lane) -> set[str]:
    """Names, as in `Lane.state`, of the weights and estimates that predictions of true or given labels, or T(x), read.

    Found by following a prediction back, so that no method has to say. Of a network that is read in part, such as one
    with a second head for the training alone, all buffers count.
    """
    lane.module.eval()
    learns = {name: param.requires_grad for name, param in lane.params.items()}
    aux = {name: _leaf(value) for name, value in lane.aux.items()}
    x = lane.stacked([lane.like.new_zeros(1, *lane.spec.shape) for _ in lane.seeds])
    try:
        for param in lane.params.values():
            param.requires_grad_()
        leaves = {f"weights|{name}": param for name, param in lane.params.items()}
        leaves |= {f"aux|{name}": value for name, value in aux.items() if value.requires_grad}
        draws = lane.draws(1, "predict")
        outputs = [lane.map(partial(prediction, noisy=noisy), x, draws, aux).sum() for noisy in (False, True)]
        if learns_transition(lane):
            outputs.append(lane.map(instance_transition, x, aux).sum())
        slopes = torch.autograd.grad(sum(outputs), list(leaves.values()), allow_unused=True)
    finally:
        for name, param in lane.params.items():
            param.requires_grad_(learns[name])
    read = {name for name, slope in zip(leaves, slopes, strict=True) if slope is not None}
    networks = {owner(name.removeprefix("weights|")) for name in read if name.startswith("weights|")}
    return read | {f"weights|{name}" for name in lane.buffers if owner(name) in networks}


def _leaf(value: Tensor) -> Tensor:
    value = value.detach()
    return value.requires_grad_() if value.is_floating_point() else value
