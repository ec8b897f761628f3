"""The contract of a method: what it declares, and the pure objective it computes."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar, get_type_hints

from torch import Tensor

from labelnoise.config import Optimiser, Schedule, Value
from labelnoise.errors import InputError
from labelnoise.registry import Registry, nearest
from labelnoise.rng import Rng
from labelnoise.types import Batch, Context, DataSpec, Nets, Snapshot, Terms

Estimate = Callable[[Snapshot], Mapping[str, Tensor]]


class Range(NamedTuple):
    """Where a hyper-parameter is searched."""

    low: float
    high: float
    log: bool


def hyper(default: float, *, low: float, high: float, log: bool = False) -> Any:
    """A real hyper-parameter: sweepable, and packable, since it enters arithmetic only.

    A plain field is structural (counts, names, flags): runs that differ in one go to different packs.
    """
    return field(default=default, metadata={"hyper": Range(low, high, log)})


@dataclass(frozen=True)
class Method:
    """A way of learning from noisy labels: fields are its hyper-parameters, and nothing it does leaves a trace.

    Inside a pack a `hyper()` field is a 0-d tensor, one value per run; the objective never notices.
    """

    name: ClassVar[str] = ""  # set by `register`
    paper: ClassVar[str] = ""  # for docs/methods.md
    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {}  # settings by name, chosen by the setting `preset`
    unjudged: ClassVar[tuple[str, ...]] = ()  # networks that no prediction of labels reads, so that noisy validation
    # cannot choose their epoch: their last weights are kept
    nested: ClassVar[tuple[str, ...]] = ()  # settings that are methods themselves, and are told the noise rate in turn

    @property
    def peers(self) -> int:
        """How many extra, independently shuffled batches each step needs."""
        return 0

    @property
    def updates(self) -> tuple[str, ...]:
        """More than one: ordered updates within a step, each training the network it names."""
        return ("",)

    @property
    def coupled(self) -> bool:
        """Whether the objective compares examples within the batch."""
        return False

    @property
    def skips(self) -> bool:
        """Whether a step may leave a network untouched, by `Terms.active`."""
        return False

    def networks(self, spec: DataSpec) -> dict[str, Any]:
        """The networks by name; whatever is learnt is a network."""
        return {"net": spec.net(spec.classes)}

    def groups(self) -> Mapping[str, Mapping[str, float]]:
        """Optimiser settings that differ by network, such as `{"revision": {"lr": 3e-5}}`."""
        return {}

    def draws(self, spec: DataSpec, size: int, rng: Rng) -> dict[str, Tensor]:
        """The random numbers of one step for a batch of `size`; for prediction, of one row that all rows share."""
        return {}

    def memory(self, spec: DataSpec) -> dict[str, Tensor]:
        """Initial per-sample state, (N, ...)."""
        return {}

    def averages(self) -> Mapping[str, tuple[str, float]]:
        """Networks that follow another as its running mean, with the decay: `{"mean": ("net", 0.999)}`; none learns."""
        return {}

    def stages(self) -> tuple["Stage", ...]:
        """What is trained one after the other."""
        return (Stage("train", 1.0, self),)

    def informed(self, noise_rate: float) -> Self:
        """This method told the data's noise rate, as its paper assumes; most have no use for it."""
        return self

    def settled(self) -> Self:
        """This method with files that its settings name replaced by what is in them, for files may change."""
        return self

    def objective(self, nets: Nets, batch: Batch, ctx: Context) -> Terms:
        """The loss of one batch; pure but for BatchNorm's running statistics."""
        raise NotImplementedError(f"{type(self).__name__} has no objective(nets, batch, ctx)")

    def log_probs(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """Log-probabilities of the true classes, (B, K): what is predicted and evaluated."""
        if "net" not in nets:
            names = ", ".join(map(repr, nets))
            raise InputError(f"method {self.name!r} has no network 'net' but {names}; define log_probs(nets, x, ctx)")
        logits: Tensor = nets["net"](x)
        return logits.log_softmax(-1)

    def transition(self, nets: Nets, ctx: Context) -> Mapping[str, Tensor]:
        """T (K, K) under the name "T", where the method estimates or learns one: shown in reports.

        Others beside it, such as an earlier one, have names that begin so.
        """
        return {"T": ctx.aux["T"]} if "T" in ctx.aux else {}

    def examine(self, nets: Nets, batch: Batch, ctx: Context) -> Mapping[str, Tensor]:
        """Numbers of each example by name, (B,), that a report shows of rightly and of wrongly labelled rows.

        Once, at the end, in eval mode; `ctx` holds estimates alone.
        """
        return {}

    def noisy_log_probs(self, nets: Nets, x: Tensor, ctx: Context) -> Tensor:
        """Log-probabilities of the given labels, (B, K): what noisy validation compares with."""
        return self.log_probs(nets, x, ctx)


@dataclass(frozen=True)
class Stage:
    """A part of a training with its own objective, networks and, if it likes, its own optimiser."""

    name: str
    share: float  # of the epoch budget; shares sum to 1
    method: Method  # whose objective runs
    trains: tuple[str, ...] = ()  # networks that learn, () for all, "teacher." for all whose names begin so; the others
    # are frozen and in eval mode
    before: Estimate | None = None  # -> ctx.aux; once per run on entry, from the networks as they are then
    refresh: Estimate | None = None  # the same after every epoch
    restart: tuple[str, ...] = ()  # networks made anew on entry, named likewise
    carry: Literal["last", "best"] = "last"  # weights handed to the next stage; best: on noisy validation
    optimiser: Optimiser | None = None  # None: the run's
    schedule: Schedule | None = None
    batch: int | None = None


METHODS: Registry[type[Method]] = Registry("method")
SomeMethod = TypeVar("SomeMethod", bound=type[Method])


def register(name: str) -> Callable[[SomeMethod], SomeMethod]:
    """Enter a method under its name: the name of its file, of the command's option and of its row in the docs."""

    def enter(cls: SomeMethod) -> SomeMethod:
        if "__dataclass_params__" not in vars(cls):
            raise TypeError(f"method {name!r} is no dataclass; put @dataclass(frozen=True) under @register")
        METHODS.register(name)(cls)
        cls.name = name
        return cls

    return enter


def hyper_fields(method: Method | type[Method]) -> dict[str, Range]:
    """The fields made by `hyper()`, with their ranges."""
    return {f.name: f.metadata["hyper"] for f in fields(method) if "hyper" in f.metadata}


def described_settings(method: type[Method]) -> str:
    """Its settings with their defaults, and the ranges in which some are searched."""
    ranges = {name: f" (searched from {low:g} to {high:g})" for name, (low, high, _) in hyper_fields(method).items()}
    settings = [f"{f.name}={f.default}{ranges.get(f.name, '')}" for f in fields(method)]
    return ", ".join(settings + ([f"preset={'|'.join(method.presets)}"] if method.presets else []))


def check_unused(method: Method, setting: str, wanted: str) -> None:
    """An error where a setting is not at its default though nothing reads it."""
    default = next(f.default for f in fields(method) if f.name == setting)
    if getattr(method, setting) != default:
        raise InputError(f"{setting} has no effect here, only with {wanted}; leave it out")


def nested(name: str) -> tuple[str, ...]:
    """The settings of a method, if it is registered, that are methods themselves."""
    return METHODS.get(name).nested if name in METHODS else ()


def structure(method: Method) -> Method:
    """The method with its packable values set aside: equal for methods that may share a pack."""
    defaults = {f.name: f.default for f in fields(method) if "hyper" in f.metadata and f.default is not MISSING}
    return replace(method, **defaults)


def expanded(name: str, settings: Mapping[str, Value]) -> dict[str, Value]:
    """Settings in which a preset stands as what it means; what is set beside it wins."""
    rest = {key: value for key, value in settings.items() if key != "preset"}
    if "preset" not in settings:
        return rest
    presets, wanted = METHODS.get(name).presets, str(settings["preset"])
    if wanted not in presets:
        known = nearest(wanted, presets) if presets else "it has none"
        raise InputError(f"method {name!r} has no preset {wanted!r}; {known}")
    return {**presets[wanted], **rest}


def build(name: str, settings: Mapping[str, Value] | None = None) -> Method:
    """The registered method of this name with these settings, of which one may be a preset."""
    cls = METHODS.get(name)
    settings = expanded(name, settings or {})
    known = [f.name for f in fields(cls)]
    for key in settings:
        if key not in known:
            raise InputError(
                f"method {name!r} has no setting {key!r}; {nearest(key, known) if known else 'it has none'}"
            )
    hints = get_type_hints(cls)
    return cls(**{key: _typed(name, key, hints[key], value) for key, value in settings.items()})


def _typed(method: str, key: str, hint: Any, value: Value) -> Value:
    # whole and real numbers as the field wants them, so that 1 and 1.0 are one setting
    if hint in (int, float) and isinstance(value, int | float) and not isinstance(value, bool):
        if hint is float:
            return float(value)
        if value % 1 == 0:
            return int(value)
    wanted = {float: "a number", int: "a whole number", bool: "true or false", str: "text"}
    if hint in wanted and not (hint in (bool, str) and isinstance(value, hint)):
        raise InputError(f"setting {key!r} of method {method!r} must be {wanted[hint]}, not {value!r}")
    return value
