"""The rows of `labelnoise speed`: each a short name, a sentence, and what measures it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from labelnoise.config import Named
from labelnoise.engine.executors import EXECUTORS
from labelnoise.engine.memory import is_shortage
from labelnoise.methods import METHODS
from labelnoise.speed import kernels, start, supply, whole
from labelnoise.speed.cases import CASES, Bench, Case, absent
from labelnoise.speed.figure import Figure
from labelnoise.speed.plain import plain_rate
from labelnoise.speed.running import chosen, engine_rate

CE = Named("ce")
CLOSELY = ("ce", "gce", "logistic_normal", "f_divergence", "co_teaching", "causal_nl")  # by every executor
SHORT = "there is too little memory"
SAMPLES = 100
# Methods in their default form, but for one whose cost is as large as one likes
SETTINGS: Mapping[str, Mapping[str, int]] = {"heteroscedastic": {"samples": SAMPLES}}


@dataclass(frozen=True)
class Row:
    """Figures that are measured together."""

    about: str
    measure: Callable[[Bench], Iterator[Figure]]
    needs: str = ""  # a standard data set, without which there is nothing to measure


def _rows() -> dict[str, Row]:
    lenet, wide = CASES["lenet5"], CASES["wrn_28_2"]
    rows = {}
    for method in (*CLOSELY, *(name for name in METHODS if name not in CLOSELY)):
        named = Named(method, SETTINGS.get(method, {}))
        settings = "".join(f", {name} {value}" for name, value in named.settings.items())
        about = f"LeNet-5 of 61,706 parameters with {method}{settings}, on a GPU batches of 256 and 45 runs"
        rows[f"lenet5-{method}"] = Row(about, partial(closely if method in CLOSELY else briefly, lenet, named))
    for method in CLOSELY:
        about = f"WRN-28-2 with {method}, crop and flip, on a GPU batches of 128, 1 and 8 runs"
        rows[f"wrn_28_2-{method}"] = Row(about, partial(closely, wide, Named(method)))
    return rows | {
        "resnet34": Row(
            "ResNet-34 with ImageNet stem on 32 pixels, crop and flip, on a GPU 1 and 8 runs",
            partial(chosen_only, CASES["resnet34"]),
        ),
        "lenet5_same": Row(
            "the logistic-normal paper's LeNet-5 of 545,546 parameters on MNIST, Adam, on a GPU 1 and 18 runs",
            partial(chosen_only, CASES["lenet5_same"]),
            "mnist",
        ),
        "mnist": Row(
            "that paper's training, all included, on a GPU 45 runs × 100 epochs",
            partial(whole.measure, whole.MNIST),
            "mnist",
        ),
        "cifar10": Row(
            "its CIFAR-10 training, all included, on a GPU 6 runs × 90 epochs",
            partial(whole.measure, whole.CIFAR10),
            "cifar10",
        ),
        "host": Row("the host's own work at epoch ends, on a GPU 45 runs", partial(whole.measure, whole.SHORT)),
        "start": Row("from the start of Python to the end of the first step, packed LeNet-5", start.measure),
        "losses": Row("losses against their naive forms, forward and backward", kernels.measure),
        "noise": Row("labels made wrong", supply.noise),
        "data": Row("data sets onto the device, and batches without training", supply.data),
    }


def closely(case: Case, method: Named, bench: Bench) -> Iterator[Figure]:
    """A plain loop, one run, and many by every executor."""
    case = bench.fitted(case)
    plain = _plain(case, method, bench)
    yield plain
    for runs, executor in ((1, "streams"), *((case.runs, name) for name in EXECUTORS)):
        yield _engine(case, method, runs, executor, bench, plain=plain.value)


def briefly(case: Case, method: Named, bench: Bench) -> Iterator[Figure]:
    """Many runs by the executor that is chosen."""
    case = bench.fitted(case)
    yield _engine(case, method, case.runs, chosen(case, method, case.runs, bench), bench)


def chosen_only(case: Case, bench: Bench) -> Iterator[Figure]:
    """Cross-entropy in a plain loop, one run, and many by the executor that is chosen."""
    case = bench.fitted(case)
    plain = _plain(case, CE, bench)
    yield plain
    for runs in (1, case.runs):
        yield _engine(case, CE, runs, chosen(case, CE, runs, bench), bench, plain=plain.value)


def _plain(case: Case, method: Named, bench: Bench) -> Figure:
    rate, note = _if_it_fits(lambda: plain_rate(case, method, bench))
    return Figure("plain loop", rate, "images/s", note=SHORT if rate is None else _told(note, case))


def _engine(case: Case, method: Named, runs: int, executor: str, bench: Bench, *, plain: float | None = None) -> Figure:
    usual = chosen(case, method, runs, bench)
    name = f"{executor}, {runs} {'run' if runs == 1 else 'runs'}"
    rate, note = _if_it_fits(lambda: _rate(case, method, runs, executor, bench))
    if rate is None:
        return Figure(name, None, "images/s", note=SHORT)
    others = {"plain loop": plain}
    if method != CE:
        others["ce"], _ = _if_it_fits(lambda: _rate(case, CE, runs, chosen(case, CE, runs, bench), bench))
    ratios = {what: rate / theirs for what, theirs in others.items() if theirs is not None}
    other = "" if executor == usual else f"{usual} would be chosen"
    key = "" if other else "one" if runs == 1 else "many"
    return Figure(name, rate, "images/s", ratios, key, "; ".join(filter(None, (note, other))))


def _if_it_fits(measured: Callable[[], tuple[float, str]]) -> tuple[float | None, str]:
    try:
        return measured()
    except (RuntimeError, MemoryError) as problem:
        if not is_shortage(problem):
            raise
        return None, ""


def _rate(case: Case, method: Named, runs: int, executor: str, bench: Bench) -> tuple[float, str]:
    # measured once in a command, since others are compared with cross-entropy
    key = f"{case.net.name} {method.name} {executor} {runs}"
    if key not in bench.rates:
        bench.rates[key] = engine_rate(case, method, runs, executor, bench)
    return bench.rates[key]


def _told(note: str, case: Case) -> str:
    kind = f"random images in place of {case.data}" if absent(case.data) else ""
    return "; ".join(filter(None, (f"1 run, batches of {case.batch}", note, kind)))


ROWS: Mapping[str, Row] = _rows()
