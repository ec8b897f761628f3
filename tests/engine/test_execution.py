import pytest
import torch
from torch import nn

from labelnoise import nets
from labelnoise.engine.execution import WORTH_COMPILING, Execution
from labelnoise.engine.lanes import Stacked
from labelnoise.errors import InputError
from labelnoise.heap import HEAP
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


def test_on_a_cpu_memory_that_is_freed_is_kept_for_the_training():
    with Execution().settings(CPU):
        assert HEAP.users == 1
    assert HEAP.users == 0


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


NEW = ("", "cudnn.", "cuda.matmul.", "cudnn.conv.", "cudnn.rnn.", "mkldnn.matmul.")
ROUNDING = [  # what programs say, each in torch's old way, its new one, or both
    "pass",
    "backends.cuda.matmul.allow_tf32 = True",
    "backends.cudnn.allow_tf32 = False",
    "torch.set_float32_matmul_precision('high')",
    "torch.set_float32_matmul_precision('medium')",
    "backends.fp32_precision = 'tf32'",
    "backends.fp32_precision = 'ieee'",
    "backends.fp32_precision = 'bf16'",
    "backends.cudnn.fp32_precision = 'ieee'",
    "backends.cuda.matmul.fp32_precision = 'tf32'",
    "backends.cudnn.conv.fp32_precision = 'ieee'",
    "backends.cudnn.rnn.fp32_precision = 'ieee'",
    "backends.mkldnn.matmul.fp32_precision = 'bf16'",
    "torch.set_float32_matmul_precision('medium'); backends.cuda.matmul.fp32_precision = 'ieee'",
    "torch.set_float32_matmul_precision('medium'); backends.cuda.matmul.allow_tf32 = False",
    "backends.cudnn.allow_tf32 = False; backends.cudnn.conv.fp32_precision = 'tf32'",
]


@pytest.fixture
def afterwards():
    """Leaves torch as a test of rounding found it, but for what is inherited."""
    yield
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = True
    for place in ("", "cudnn.", "cuda.matmul.", "mkldnn.matmul."):
        exec(f"torch.backends.{place}fp32_precision = 'none'")


def answers(*questions):
    """What torch answers; None where it refuses, for its old and new settings disagree."""
    found = []
    for question in questions:
        try:
            found.append(eval(question, {"torch": torch, "backends": torch.backends}))
        except RuntimeError:
            found.append(None)
    return found


def old():
    return answers(
        "backends.cuda.matmul.allow_tf32", "backends.cudnn.allow_tf32", "torch.get_float32_matmul_precision()"
    )


def new():
    return answers(*(f"backends.{place}fp32_precision" for place in NEW))


@pytest.mark.parametrize(
    ("precision", "said"), [("auto", [True, True, "high"]), ("float32", [False, False, "highest"])]
)
@pytest.mark.parametrize("program", ROUNDING)
def test_whatever_a_program_said_of_rounding_torch_says_one_thing_in_a_training(afterwards, program, precision, said):
    exec(program, {"torch": torch, "backends": torch.backends})
    with Execution(precision=precision).settings(CUDA):
        assert old() == said
        assert new()[2:5] == ["tf32" if precision == "auto" else "ieee"] * 3


@pytest.mark.parametrize("precision", ["auto", "float32"])
@pytest.mark.parametrize("program", ROUNDING)
def test_what_a_program_said_of_rounding_holds_after_a_training(afterwards, program, precision):
    exec(program, {"torch": torch, "backends": torch.backends})
    before = old(), new()
    with Execution(precision=precision).settings(CUDA):
        pass
    assert (old(), new()) == before


def test_what_was_inherited_still_is_after_a_training(afterwards):
    torch.backends.fp32_precision = "tf32"
    with Execution(precision="float32").settings(CUDA):
        pass
    torch.backends.fp32_precision = "ieee"
    assert torch.backends.cuda.matmul.fp32_precision == "ieee"
