import pytest
import torch
from torch import nn

from labelnoise.errors import InputError
from labelnoise.methods.paired import Paired
from labelnoise.methods.peer_loss import PeerLoss
from labelnoise.types import Batch, Context

NETS = {"net": nn.Flatten()}


def batch(first, labels):
    return Batch(torch.arange(first, first + 3.0).unsqueeze(1), torch.tensor(labels), torch.arange(3))


def test_in_one_pass_every_row_meets_the_label_of_its_neighbour_and_never_its_own() -> None:
    mine, outputs = batch(0, [5, 6, 7]), torch.zeros(3, 1)
    found, labels = Paired().strangers(NETS, outputs, mine, Context())
    assert found is outputs
    assert labels.tolist() == [7, 5, 6]


def test_separate_strangers_come_from_two_other_batches() -> None:
    peers = (batch(10, [0, 0, 0]), batch(20, [1, 2, 3]))
    found, labels = Paired(separate=True).strangers(NETS, torch.zeros(3, 1), batch(0, [5, 6, 7]), Context(peers=peers))
    assert found.flatten().tolist() == [10, 11, 12]
    assert labels.tolist() == [1, 2, 3]


def test_peers_are_asked_for_only_where_they_are_separate_and_rows_are_coupled_where_they_are_not() -> None:
    assert (Paired().peers, Paired().coupled) == (0, True)
    assert (Paired(separate=True).peers, Paired(separate=True).coupled) == (2, False)


def test_a_batch_of_one_row_has_no_stranger(spec) -> None:
    with pytest.raises(InputError, match="peer_loss needs batches of at least two rows"):
        PeerLoss().networks(spec._replace(batch=1))
    PeerLoss(separate=True).networks(spec._replace(batch=1))
