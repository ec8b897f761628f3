"""The loop to compare with, as a competent user writes it: a DataLoader with workers, eager float32, a fused optimiser.

Images lie in memory as bytes; a worker turns one into floats and augments it. On a GPU memory is pinned, copies are
asynchronous and cuDNN chooses its fastest kernels, of which those of convolutions may round factors to tf32, as they do
by torch's default. Nothing waits for the device but the clock.
"""

from collections.abc import Iterable
from contextlib import suppress
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as Items

from labelnoise import nets
from labelnoise.config import Augment, Named
from labelnoise.data.pictures import Pictures
from labelnoise.data.stream import usual_workers
from labelnoise.engine.observer import Observer
from labelnoise.engine.optim import make
from labelnoise.methods import build
from labelnoise.rng import seeded_init
from labelnoise.speed.blocks import Blocks, EnoughError
from labelnoise.speed.cases import EPOCHS, Bench, Case
from labelnoise.speed.running import release
from labelnoise.stepping import MethodStep
from labelnoise.sweep.run import prepare
from labelnoise.types import DataSpec


class Images(Items[tuple[Tensor, int]]):
    """Images one by one, as floats, augmented."""

    def __init__(self, x: Tensor, y: Tensor, augment: Augment) -> None:
        self.x, self.y, self.augment = x, y, augment
        self.mean, self.std = (torch.tensor(each)[:, None, None] for each in (augment.mean, augment.std))

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, row: int) -> tuple[Tensor, int]:
        x, crop = self.x[row], self.augment.crop
        if crop:
            top, left = torch.randint(2 * crop + 1, (2,)).tolist()
            height, width = x.shape[1:]
            x = F.pad(x, (crop,) * 4)[:, top : top + height, left : left + width]
        if self.augment.flip and torch.rand(()) < 0.5:
            x = x.flip(-1)
        x = x.float().div_(255)
        return (x.sub_(self.mean).div_(self.std) if len(self.mean) else x), int(self.y[row])


class CrossEntropy(nn.Module):
    """A network and its loss."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """The mean loss of a batch."""
        return F.cross_entropy(self.net(x), y)


def learner(case: Case, method: Named, samples: int, shape: tuple[int, ...], classes: int) -> nn.Module:
    """A module from x and y to a loss: cross-entropy as torch has it, other methods as `labelnoise.step` gives them."""
    net = partial(nets.build, case.net.name, shape, settings=case.net.settings)
    if method.name == "ce":
        with seeded_init(0, "init"):
            return CrossEntropy(net(classes))
    made = MethodStep(build(method.name, method.settings), DataSpec(shape, classes, samples, net))
    for stage in made.stages[1:]:
        made.begin_stage(stage)
    made.begin_epoch(0, EPOCHS)
    return made


def train(
    learns: nn.Module,
    optimiser: torch.optim.Optimizer,
    served: Iterable[tuple[Tensor, Tensor]],
    device: torch.device,
    watch: Observer,
    *,
    epochs: int = EPOCHS,
    steps: int,
) -> None:
    """The loop that everybody writes."""
    learns.train()
    for epoch in range(epochs):
        for number, batch in enumerate(served):
            x, y = (each.to(device, non_blocking=True) for each in batch)
            optimiser.zero_grad(set_to_none=True)
            learns(x, y).backward()
            optimiser.step()
            watch.stepped(epoch, number, steps)


def plain_rate(case: Case, method: Named, bench: Bench, workers: int | None = None) -> tuple[float, str]:
    """Images per second of one run in a plain loop, and a note where little was measured."""
    release(bench.device)
    items, dataset = training_images(case, bench), bench.images(case)
    served = serve(items, case.batch, bench.device, usual_workers() if workers is None else workers)
    learns = learner(case, method, len(items), dataset.shape, len(dataset.classes)).to(bench.device)
    optimiser = make(case.optimiser, [{"params": list(learns.parameters())}])
    watch = Blocks(bench.device, bench.seconds)
    tuned = torch.backends.cudnn.flags(enabled=True, benchmark=True, deterministic=False, allow_tf32=True)
    with tuned, suppress(EnoughError):
        train(learns, optimiser, served, bench.device, watch, steps=len(served))
    return case.batch / watch.step_seconds, watch.note


def training_images(case: Case, bench: Bench) -> Images:
    """Those that the engine's first run learns from, with its given labels."""
    dataset = bench.images(case)
    task = prepare(case.config(Named("ce")), lambda _: dataset)
    rows, x = task.splits.train, task.dataset.x
    if isinstance(x, Pictures):
        raise TypeError("images on disk have no place in this loop")
    return Images(x[rows], task.dataset.y_given[rows], case.augment)


def serve(items: Images, batch: int, device: torch.device, workers: int) -> DataLoader[tuple[Tensor, int]]:
    """Shuffled batches, made by so many processes."""
    return DataLoader(
        items,
        batch_size=batch,
        shuffle=True,
        num_workers=workers,
        pin_memory=device.type == "cuda",
        persistent_workers=workers > 0,
        prefetch_factor=4 if workers else None,
        drop_last=True,
    )
