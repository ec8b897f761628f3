import pytest
import torch
from torch import nn

from labelnoise.errors import InputError
from labelnoise.methods import build
from labelnoise.methods.distillation import Distillation
from labelnoise.methods.gce import GCE
from labelnoise.methods.wrapped import Wrapped
from labelnoise.testing import CHECKS, training
from labelnoise.types import Batch, Context


class Fixed(nn.Module):
    def __init__(self, logits):
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(logits, dtype=torch.float64))

    def forward(self, x):
        return self.logits


BATCH = Batch(torch.zeros(1, 4), torch.tensor([0]), torch.tensor([0]))
NETS = {"teacher.net": Fixed([[3.0, 1, 0]]), "net": Fixed([[1.0, 1, 0]])}


def test_objective_and_gradient_are_the_published_ones() -> None:
    loss = Distillation("ce", 2.0).objective(NETS, BATCH, Context()).loss
    assert loss.item() == pytest.approx(1.028142, abs=1e-6)
    (gradient,) = torch.autograd.grad(loss, [NETS["net"].logits])
    assert gradient[0].tolist() == pytest.approx([-0.122440, 0.076214, 0.046226], abs=1e-6)


def test_the_teacher_learns_nothing_from_the_student() -> None:
    loss = Distillation("ce", 2.0).objective(NETS, BATCH, Context()).loss
    assert torch.autograd.grad(loss, [NETS["teacher.net"].logits], allow_unused=True)[0] is None


@pytest.mark.parametrize("on_student", ["smoothing", "forward"])
def test_on_the_student_targets_are_smoothed_or_predictions_mixed(on_student) -> None:
    q, p = (torch.tensor([logits]).double().div(2).softmax(-1) for logits in ([3.0, 1, 0], [1.0, 1, 0]))
    mixed = [0.9 * each + 0.1 / 3 for each in (q, p)]
    target, prediction = (mixed[0], p) if on_student == "smoothing" else (q, mixed[1])
    loss = Distillation("ce", 2.0, on_student=on_student).objective(NETS, BATCH, Context()).loss
    assert loss.item() == pytest.approx(-(target * prediction.log()).sum().item(), abs=1e-12)


def test_a_teacher_may_have_settings() -> None:
    assert Distillation("gce(q=0.5)")._teacher == Wrapped("teacher.", GCE(q=0.5))
    assert Distillation("forward(preset=smoothing, alpha=0.2)")._teacher.inner.alpha == 0.2


def test_the_teacher_is_handed_over_as_it_was_best() -> None:
    *_, taught, student = Distillation("forward", share=0.6).stages()
    assert (taught.carry, student.trains, student.share) == ("best", ("net",), 0.4)
    assert sum(stage.share for stage in Distillation("t_revision").stages()) == pytest.approx(1)


def test_networks_of_the_teacher_are_prefixed(spec) -> None:
    assert set(Distillation("co_teaching").networks(spec)) >= {"net"}
    assert all(name == "net" or name.startswith("teacher.") for name in Distillation("co_teaching").networks(spec))


@pytest.mark.parametrize("teacher", ["gce", "co_teaching", "t_revision", "heteroscedastic(samples=8)"])
def test_any_method_can_teach(teacher) -> None:
    trained = training([Distillation(teacher)], seeds=[0])
    trained.run()
    assert not trained.failed


@pytest.mark.parametrize("check", ["packed_equals_alone", "state_round_trips", "gradients_reach_what_learns"])
@pytest.mark.parametrize("preset", Distillation.presets)
def test_presets_keep_the_contract(preset, check) -> None:
    CHECKS[check](build("distillation", {"preset": preset}))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"share": 1.0}, "share must lie between 0 and 1, not 1.0"),
        ({"on_student": "both"}, "on_student must be none, smoothing or forward, not 'both'"),
        ({"teacher": "nobody"}, "unknown method 'nobody'"),
        ({"teacher": "gce(p=1)"}, "method 'gce' has no setting 'p'"),
        ({"teacher": "gce(q=2"}, "has a bracket without its other half"),
        ({"temperature": 0.0}, "temperature must be above 0, not 0.0"),
        ({"alpha": 1.5}, "alpha must be at least 0 and below 1, not 1.5"),
        ({"alpha": 0.5}, "alpha has no effect here, only with on_student=smoothing or forward"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(settings, message) -> None:
    with pytest.raises(InputError, match=message):
        Distillation(**settings)


def test_a_teacher_is_told_the_noise_rate() -> None:
    assert Distillation("co_teaching").informed(0.4).teacher == "co_teaching(forget=0.4)"


def test_a_settled_teacher_no_longer_needs_its_file(tmp_path) -> None:
    (tmp_path / "T.csv").write_text("0.9,0.1\n0.2,0.8\n")
    settled = Distillation(f"forward(matrix={tmp_path / 'T.csv'})").settled()
    assert settled.teacher == "forward(matrix=0.9 0.1; 0.2 0.8)"
    assert settled.settled() == settled
