"""Records of the tiny paper, as the command leaves them but for the training."""

import pytest

CELLS = {("CE", "none"): (0.90, 0.91), ("CE", "symmetric:0.4"): (0.50, 0.52)}  # of which the second is far off
EXECUTION = {"executor": None, "precision": "auto", "eager": False, "deterministic": False}
FACTS = {
    "device": "cpu",
    "executor": "packed",
    "execution": EXECUTION,
    "versions": {"labelnoise": "0.1", "torch": "2.11"},
    "finished": "2026-05-04T03:02:01+00:00",
}


@pytest.fixture
def record_figure(sketch, tmp_path):
    """A function that writes made-up outcomes of cells of a figure, of as many seeds, and an empty picture."""
    from labelnoise.papers.figures import figures
    from labelnoise.reproduce import outcomes
    from labelnoise.reproduce.asked import Table
    from labelnoise.reproduce.groups import groups, trainings
    from labelnoise.reproduce.kept import OUTCOMES, note
    from labelnoise.reproduce.outcomes import Outcome
    from labelnoise.reproduce.run import made_of

    def write(name, recipe="paper", *, seeds=1, methods=None):
        folder = tmp_path / "results" / "sketch" / f"{name}-{recipe}"
        folder.mkdir(parents=True)
        cells = [cell for cell in figures(sketch)[name].cells if methods is None or cell.method in methods]
        for group in groups(sketch, cells, recipe):
            runs = trainings(group, seeds)
            note(folder, Table(sketch, name), recipe, made_of(runs))
            found = [(each.identity, each.to_dict()) for each in runs.configs]
            outcomes.keep(folder / OUTCOMES, [Outcome(*each, 0.4, None, {}, {}, FACTS, "c0ffee") for each in found])
        (folder / "a.svg").write_text("<svg/>")
        return folder

    return write


@pytest.fixture
def record(tiny, tmp_path):
    """A function that writes made-up outcomes of cells of a table: an accuracy for each seed, None of a failure."""
    from labelnoise.reproduce import outcomes
    from labelnoise.reproduce.asked import Table
    from labelnoise.reproduce.groups import groups, trainings
    from labelnoise.reproduce.kept import OUTCOMES, Made, note
    from labelnoise.reproduce.outcomes import Outcome

    def outcome(config, accuracy, facts, commit):
        shares = {"last": accuracy, "selected": (accuracy or 0) + 0.01, "oracle": (accuracy or 0) + 0.02}
        measures = {rule: {"test/accuracy_true": share} for rule, share in shares.items()} if accuracy else {}
        failed = None if accuracy else (0, 1)
        return Outcome(config.identity, config.to_dict(), 0.39, failed, measures, {}, facts, commit)

    def write(cells=CELLS, recipe="paper", *, facts=FACTS, commit="c0ffee"):
        table, folder = Table(tiny, "table1"), tmp_path / "results" / "tiny" / f"table1-{recipe}"
        folder.mkdir(parents=True, exist_ok=True)
        wanted = [cell for cell in tiny.published("table1") if (cell.method, cell.noise) in cells]
        found, made_of = [], []
        for cell in wanted:
            values = cells[cell.method, cell.noise]
            ((_, configs),) = trainings(groups(tiny, [cell], recipe)[0], len(values)).runs
            found += [outcome(*pair, facts, commit) for pair in zip(configs, values, strict=True)]
            made_of.append((cell, Made(tuple(config.identity for config in configs))))
        outcomes.keep(folder / OUTCOMES, [*outcomes.read(folder / OUTCOMES).values(), *found])
        note(folder, table, recipe, made_of)
        return folder

    return write


@pytest.fixture
def explain(tmp_path):
    """A function that writes the reasons of the tiny paper."""

    def write(*entries):
        path = tmp_path / "results" / "tiny" / "reasons.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("reasons:\n" + "".join(f"  - {entry}\n" for entry in entries))
        return path

    return write
