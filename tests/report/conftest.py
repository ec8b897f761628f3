"""Results folders with made-up numbers, so that reports can be tested without training."""

import json

import numpy as np
import pytest
import torch

from labelnoise.config import RunConfig, digest
from labelnoise.engine import checkpoint
from labelnoise.results.record import Record, append
from labelnoise.results.store import Journal, Store

HEIGHTS = {"ce": 0.80, "gce": 0.93, "forward": 0.91, "mixup": 0.90, "co_teaching": 0.92, "heteroscedastic": 0.82}
BASE = {key: value for key, value in RunConfig().to_dict().items() if key not in ("method", "seed")}


def named(method, **settings):
    return {"name": method, "settings": settings}


METHODS = tuple(map(named, HEIGHTS))


def history(rng, height, *, epochs, truth):
    """Measures by epoch of a method that rises to its height, and falls from it the more the lower it is."""
    t = np.linspace(0, 1, epochs)
    rise = (1 - np.exp(-9 * t)) * (0.95 - (0.95 - height) * t)
    accuracy = (0.1 + 0.88 * rise + rng.normal(0, 0.006, epochs)).clip(0, 1)
    memory = 0.03 + (0.95 - height) * 4 * t**2
    measures = {
        "train/loss": 2 - t,
        "train/accuracy_given": 0.6 * accuracy + 0.4 * memory,
        "validation/accuracy_given": 0.62 * accuracy,
        "validation/score": 0.62 * accuracy + rng.normal(0, 0.005, epochs),
        "test/accuracy_given": accuracy if truth == "added" else 0.65 * accuracy,
    }
    if truth != "unknown":
        measures |= {
            "test/accuracy_true": accuracy,
            "train/clean_accuracy": accuracy,
            "train/wrong_accuracy_true": (accuracy - memory).clip(0, 1),
            "train/wrong_accuracy_given": memory.clip(0, 1),
        }
    return [{name: float(values[epoch]) for name, values in measures.items()} for epoch in range(epochs)]


def noisy_counts(rng, classes, rows, rate):
    """Counts (K, K) of labels of which a share is moved to other classes."""
    T = np.full((classes, classes), rate / (classes - 1))
    np.fill_diagonal(T, 1 - rate)
    return np.stack([rng.multinomial(rows // classes + 1, row) for row in T])


def details(rng, classes, height, *, truth, rows=360, learns_T=False):
    """What the engine measures once at the end of a run."""
    sizes = np.diff(np.linspace(0, rows, 301).astype(int))[::-1].copy()
    sizes[:60] = 0
    centres = (np.arange(300) + 0.6) / 300
    found = {
        "test_confusion": noisy_counts(rng, classes, rows, 1 - height),
        "test_bins": np.stack([sizes, sizes * centres, np.round(sizes * centres * height)], 1),
        "validation_counts": noisy_counts(rng, classes, rows // 2, 0.4),
    }
    if truth != "unknown":
        found["train_counts"] = noisy_counts(rng, classes, 4 * rows, 0.4)
        right, wrong = rng.multinomial(rows, np.full(60, 1 / 60), (2, 3))
        found["margin_counts"] = np.stack([right + wrong, right, wrong])
    if learns_T:
        found["T"] = found["validation_counts"] / found["validation_counts"].sum(1, keepdims=True)
    return {name: torch.tensor(value, dtype=torch.float64) for name, value in found.items()}


@pytest.fixture
def fabricate(tmp_path):
    """A function that makes a folder of runs and opens it."""

    def make(
        methods=METHODS,
        *,
        seeds=3,
        epochs=40,
        truth="known",
        classes=tuple("0123456789"),
        name="digits",
        notes=(),
        failed=(),
        histories=None,
        searches=None,
        compared=None,
        folder="results",
    ):
        """`failed` are pairs of method and seed; `histories` maps such a pair to measures by epoch."""
        root = tmp_path / folder
        root.mkdir()
        noise = "none" if truth == "unknown" else "symmetric:0.4"
        data = {"name": name, "rows": 1797, "shape": [64], "classes": list(classes), "notes": list(notes)}
        data |= {"parts": {"train": 1257, "validation": 180, "test": 360}, "truth": truth}
        data |= {"told_rate": None if truth == "unknown" else 0.4}
        (root / "config.json").write_text(json.dumps({"base": BASE | {"noise": noise}, "data": data}))
        if compared:
            (root / "compared.json").write_text(json.dumps({"runs": compared}))
        if searches:
            (root / "searches.json").write_text(json.dumps(searches))
        for place, method in enumerate(methods):
            pack = root / f"{method['name']}-{place}"
            pack.mkdir()
            height = HEIGHTS.get(method["name"], 0.85)
            records, runs, tensors = [], [], []
            for seed in range(seeds):
                rng = np.random.default_rng([place, seed])
                key = (method["name"], seed)
                run = digest([method, seed])
                measured = (histories or {}).get(key) or history(rng, height, epochs=epochs, truth=truth)
                records += [
                    Record(run, method["name"], seed, "train", epoch, each) for epoch, each in enumerate(measured)
                ]
                rate = None if truth == "unknown" else 0.4 + 0.005 * seed
                config = BASE | {"method": method, "seed": seed}
                failure = [3, 7] if key in failed else None
                runs.append({"run": run, "config": config, "noise_rate": rate, "failed": failure})
                learns_T = method["name"] == "forward"
                tensors.append(details(rng, len(classes), height, truth=truth, learns_T=learns_T))
            append(pack / "records.jsonl", records)
            packed = {key: torch.stack([each[key] for each in tensors]) for key in tensors[0]}
            checkpoint.save(pack / "details.safetensors", packed, {})
            facts = {"runs": runs, "seconds": 11.3, "executor": "packed", "device": "cpu"}
            facts |= {
                "versions": {"labelnoise": "0.1.0", "torch": "2.13.0"},
                "finished": f"2025-01-01T00:00:{place:02}",
            }
            Journal(pack).finish(facts)
        return Store.read(root)

    return make


@pytest.fixture
def recount():
    """A function that replaces the counts of the test part: method -> label by prediction, (K, K), of every seed."""

    def replace(store, counts):
        for method, each in counts.items():
            (path,) = store.folder.glob(f"{method}-*/details.safetensors")
            tensors, facts = checkpoint.load(path)
            checkpoint.save(path, tensors | {"test_confusion": torch.tensor(each, dtype=torch.float64)}, facts)
        return Store.read(store.folder)

    return replace
