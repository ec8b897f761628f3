import torch
from torch.utils._pytree import tree_leaves, tree_map

from labelnoise.engine.tree import leaves, mapped
from labelnoise.types import Batch, Terms


def tensors(first):
    return [torch.tensor(float(first + k)) for k in range(3)]


def tree(first=0):
    inner = Terms(torch.tensor(first + 9.0), {"b": torch.tensor(first + 8.0), "a": torch.tensor(first + 7.0)})
    return (Batch(*tensors(first)), (Batch(*tensors(first + 3)),), {"x": inner}, ())


def test_leaves_are_those_that_torch_finds_in_the_same_order():
    assert list(leaves(tree())) == tree_leaves(tree())


def test_a_mapped_tree_is_the_one_that_torch_makes():
    found = mapped(lambda one, other: one * other, tree(), tree(5))
    assert found == tree_map(lambda one, other: one * other, tree(), tree(5))
    assert [type(each) for each in found] == [type(each) for each in tree()]
