"""The data sets of the papers, as data: what they are, where to get them, and how their files are checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from labelnoise.config import Augment
from labelnoise.errors import InputError
from labelnoise.registry import nearest

F_DIVERGENCE, LOGISTIC_NORMAL = "Wei and Liu 2021", "Englesson et al. 2023"
CAUSAL_NL, SMOOTHING = "Yao et al. 2021", "Lukasik et al. 2020"

CIFAR10_COLOURS = Augment(
    crop=4, flip=True, mean=(0.4914, 0.4822, 0.4465), std=(0.2470, 0.2435, 0.2616)
)  # mean and std of the training images, here and below
CIFAR100_COLOURS = Augment(crop=4, flip=True, mean=(0.5071, 0.4865, 0.4409), std=(0.2673, 0.2564, 0.2762))
IMAGENET_COLOURS = Augment(flip=True, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))

IDX = (
    "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte (.gz or not), "
    "or {}.npz with x_train, y_train, x_test and y_test"
)
KEY_LISTS = "noisy_train_key_list.txt, clean_test_key_list.txt, noisy_label_kv.txt, clean_label_kv.txt and images/"


@dataclass(frozen=True)
class Card:
    """What there is to know of a data set before one has it."""

    name: str  # also of its file in the data root
    title: str
    train: int  # rows
    test: int  # rows of the official test part
    shape: tuple[int, int, int]  # channels, height, width
    classes: int
    download: int  # bytes; 0 where nobody says
    licence: str
    url: str
    files: str  # that `labelnoise data convert` needs, as their authors call them
    checked: str
    paper: str  # that introduced it
    used_by: tuple[str, ...]  # of the four papers
    augment: Augment  # recommended
    variants: Mapping[str, str] = field(default_factory=lambda: {"": ""})  # after the colon, and what they are
    torchvision: str = ""  # class that downloads it
    images_of: str = ""  # data set that has the images where this one has labels only
    on_request: bool = False  # its owners hand it out one by one

    @property
    def names(self) -> tuple[str, ...]:
        """As `--data` takes them."""
        return tuple(self.sentences)

    @property
    def sentences(self) -> dict[str, str]:
        """What is behind each of these names."""
        return {
            f"{self.name}:{variant}" if variant else self.name: ", ".join(filter(None, (self.title, meaning)))
            for variant, meaning in self.variants.items()
        }

    @property
    def size(self) -> str:
        """Of the download, as a person would say it."""
        if not self.download:
            return "not stated"
        return f"{self.download / 1e6:.0f} MB" if self.download < 1e9 else f"{self.download / 1e9:.0f} GB"

    @property
    def by_hand(self) -> str:
        """What to do where no program can download it."""
        first = f", {self.images_of} before it" if self.images_of else ""
        return f"get {self.files} from {self.url} and type `labelnoise data convert {self.name} PATH`{first}"

    @property
    def to_get(self) -> str:
        """What to do to have it."""
        return f"type `labelnoise data fetch {self.name}`, or {self.by_hand}" if self.torchvision else self.by_hand


_CARDS = (
    Card(
        name="mnist",
        title="MNIST, handwritten digits",
        train=60_000,
        test=10_000,
        shape=(1, 28, 28),
        classes=10,
        download=11_594_722,
        licence="CC BY-SA 3.0, as usually given",
        url="https://ossci-datasets.s3.amazonaws.com/mnist",
        files=IDX.format("mnist"),
        checked="MD5 of each idx file, unpacked",
        paper="LeCun et al., Gradient-based learning applied to document recognition, Proc. IEEE 1998",
        used_by=(F_DIVERGENCE, LOGISTIC_NORMAL),
        augment=Augment(mean=(0.1307,), std=(0.3081,)),
        torchvision="MNIST",
    ),
    Card(
        name="fashion_mnist",
        title="Fashion-MNIST, articles of clothing",
        train=60_000,
        test=10_000,
        shape=(1, 28, 28),
        classes=10,
        download=30_878_645,
        licence="MIT",
        url="https://github.com/zalandoresearch/fashion-mnist",
        files=IDX.format("fashion_mnist"),
        checked="MD5 of each idx file, unpacked",
        paper="Xiao et al., Fashion-MNIST: a novel image dataset for benchmarking machine learning algorithms, 2017",
        used_by=(F_DIVERGENCE, CAUSAL_NL),
        augment=Augment(mean=(0.2860,), std=(0.3530,)),
        torchvision="FashionMNIST",
    ),
    Card(
        name="cifar10",
        title="CIFAR-10, small photographs",
        train=50_000,
        test=10_000,
        shape=(3, 32, 32),
        classes=10,
        download=170_498_071,
        licence="no formal licence",
        url="https://www.cs.toronto.edu/~kriz/cifar.html",
        files="cifar-10-python.tar.gz or cifar-10-binary.tar.gz (or the folder in it)",
        checked="MD5 of each batch, SHA-256 of all pixels and labels",
        paper="Krizhevsky, Learning multiple layers of features from tiny images, 2009",
        used_by=(F_DIVERGENCE, LOGISTIC_NORMAL, CAUSAL_NL, SMOOTHING),
        augment=CIFAR10_COLOURS,
        torchvision="CIFAR10",
    ),
    Card(
        name="cifar100",
        title="CIFAR-100, small photographs",
        train=50_000,
        test=10_000,
        shape=(3, 32, 32),
        classes=100,
        download=169_001_437,
        licence="no formal licence",
        url="https://www.cs.toronto.edu/~kriz/cifar.html",
        files="cifar-100-python.tar.gz or cifar-100-binary.tar.gz (or the folder in it)",
        checked="MD5 of each python file; of the binary version the order of the training labels",
        paper="Krizhevsky, Learning multiple layers of features from tiny images, 2009",
        used_by=(F_DIVERGENCE, LOGISTIC_NORMAL, CAUSAL_NL, SMOOTHING),
        augment=CIFAR100_COLOURS,
        torchvision="CIFAR100",
    ),
    Card(
        name="svhn",
        title="SVHN, digits of house numbers",
        train=73_257,
        test=26_032,
        shape=(3, 32, 32),
        classes=10,
        download=246_316_178,
        licence="non-commercial use only",
        url="http://ufldl.stanford.edu/housenumbers",
        files="train_32x32.mat and test_32x32.mat",
        checked="MD5 of each file",
        paper="Netzer et al., Reading digits in natural images with unsupervised feature learning, 2011",
        used_by=(CAUSAL_NL,),
        augment=Augment(crop=4, mean=(0.4377, 0.4438, 0.4728), std=(0.1980, 0.2010, 0.1970)),
        torchvision="SVHN",
    ),
    Card(
        name="cifar10n",
        title="CIFAR-10N, CIFAR-10 labelled by people",
        train=50_000,
        test=10_000,
        shape=(3, 32, 32),
        classes=10,
        download=2_401_007,
        licence="CC BY-NC 4.0 (labels)",
        url="https://github.com/UCSC-REAL/cifar-10-100n",
        files="CIFAR-10_human.pt (or an .npz file with the same arrays)",
        checked="SHA-256 of the file or its labels; its clean labels equal those of cifar10, row by row",
        paper="Wei et al., Learning with noisy labels revisited, ICLR 2022",
        used_by=(LOGISTIC_NORMAL,),
        augment=CIFAR10_COLOURS,
        variants={
            "aggregate": "the majority of three",
            "random1": "the first of three",
            "random2": "the second of three",
            "random3": "the third of three",
            "worst": "a wrong label wherever one of three is",
        },
        images_of="cifar10",
    ),
    Card(
        name="cifar100n",
        title="CIFAR-100N, CIFAR-100 labelled by people",
        train=50_000,
        test=10_000,
        shape=(3, 32, 32),
        classes=100,
        download=1_000_959,
        licence="CC BY-NC 4.0 (labels)",
        url="https://github.com/UCSC-REAL/cifar-10-100n",
        files="CIFAR-100_human.pt (or an .npz file with the same arrays)",
        checked="SHA-256 of the file or its labels; its clean labels equal those of cifar100, row by row",
        paper="Wei et al., Learning with noisy labels revisited, ICLR 2022",
        used_by=(LOGISTIC_NORMAL,),
        augment=CIFAR100_COLOURS,
        images_of="cifar100",
    ),
    Card(
        name="clothing1m",
        title="Clothing1M, clothes labelled by the text around them",
        train=1_000_000,
        test=10_526,
        shape=(3, 224, 224),
        classes=14,
        download=0,
        licence="by request to the authors, for research",
        url="https://github.com/Cysu/noisy_label",
        files=f"the folder with {KEY_LISTS}",
        checked="counts of rows and classes, names of the classes; images as they are read",
        paper="Xiao et al., Learning from massive noisy labeled data for image classification, CVPR 2015",
        used_by=(F_DIVERGENCE, LOGISTIC_NORMAL, CAUSAL_NL),
        augment=IMAGENET_COLOURS,
        variants={"": "", "balanced": "of which 18,976 training rows of each class"},
        on_request=True,
    ),
    Card(
        name="imagenet",
        title="ImageNet, ILSVRC 2012",
        train=1_281_167,
        test=50_000,
        shape=(3, 224, 224),
        classes=1000,
        download=154_642_401_280,
        licence="after registration, for non-commercial research and education",
        url="https://image-net.org/download",
        files="the folder with train/ and val/, in which every class has a folder of its name",
        checked="names of the folders; images as they are read",
        paper="Russakovsky et al., ImageNet large scale visual recognition challenge, IJCV 2015",
        used_by=(SMOOTHING,),
        augment=IMAGENET_COLOURS,
        on_request=True,
    ),
)
CARDS: Mapping[str, Card] = {card.name: card for card in _CARDS}


def find(name: str) -> Card:
    """The card of a data set by its name, with or without what follows the colon."""
    known = {each: card for card in _CARDS for each in (card.name, *card.names)}
    if name not in known:
        raise InputError(f"unknown standard data set {name!r}; {nearest(name, known)}")
    return known[name]
