import torch

from labelnoise.transition.revision import Revision

T = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]])


def test_a_fresh_revision_leaves_the_matrix_as_it_is():
    torch.testing.assert_close(Revision(3)(T), T)


def test_the_correction_is_added_and_rows_are_scaled_back_to_distributions():
    revision = Revision(3)
    revision.delta.data[0] = torch.tensor([-0.9, 0.2, 0.0])  # |-0.2|, 0.4, 0.1
    torch.testing.assert_close(revision(T)[0], torch.tensor([2 / 7, 4 / 7, 1 / 7]))
    torch.testing.assert_close(revision(T)[1:], T[1:])


def test_without_a_projection_the_correction_is_added_and_nothing_else():
    revision = Revision(3, "none")
    revision.delta.data[0] = torch.tensor([-0.9, 0.2, 0.0])
    torch.testing.assert_close(revision(T)[0], torch.tensor([-0.2, 0.4, 0.1]))


def test_the_correction_can_be_added_several_times_for_each_of_many():
    revision = Revision(3, "none")
    revision.delta.data[1] = torch.tensor([0.02, -0.02, 0.0])
    each = revision(T, torch.tensor([1, 3])[:, None, None])
    torch.testing.assert_close(each[:, 1], torch.tensor([[0.12, 0.78, 0.1], [0.16, 0.74, 0.1]]))
    torch.testing.assert_close(each[:, 0], T[0].expand(2, 3))
