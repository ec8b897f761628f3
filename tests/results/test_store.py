import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
import torch

from labelnoise.engine import checkpoint
from labelnoise.errors import InputError
from labelnoise.results.record import Record
from labelnoise.results.store import Journal, Store

BASE = {
    "data": {"source": "digits"},
    "noise": "symmetric:0.2",
    "net": {"name": "mlp"},
    "train": {"epochs": 2, "batch": 8, "betas": (0.9, 0.999)},
}
DATA = {
    "name": "digits",
    "rows": 10,
    "shape": [4],
    "classes": ["a", "b"],
    "parts": {"train": 7, "validation": 1, "test": 2},
    "notes": [],
    "truth": "known",
    "told_rate": 0.2,
}


def records(*epochs, run="abc"):
    return [Record(run, "ce", 0, "train", epoch, {"a": 1.0}) for epoch in epochs]


def facts(*runs, finished="2026-01-01", failed=None):
    closing = {"config": {"method": {"name": "ce", "settings": {}}, "seed": 0}, "noise_rate": 0.4, "failed": failed}
    place = {"seconds": 1.5, "executor": "packed", "device": "cpu", "versions": {}}
    return {"runs": [{"run": run, **closing} for run in runs], **place, "finished": finished}


def asked(*runs):
    return {run: facts(run)["runs"][0]["config"] for run in runs}


def opened(folder, base=BASE):
    with Store.open(folder, base, DATA) as store:
        return store


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "pack")


def test_a_folder_opens_again_for_the_same_settings(tmp_path):
    folder = tmp_path / "runs" / "deeper"
    assert opened(folder).folder == folder
    assert opened(folder).folder == folder
    assert Store.read(folder).facts == json.loads(json.dumps({"base": BASE, "data": DATA}))


def test_a_folder_of_another_config_is_refused_with_what_differs_and_left_as_it_was(tmp_path):
    opened(tmp_path)
    before = (tmp_path / "config.json").read_bytes()
    with pytest.raises(InputError, match=r"another config \(not the same: data.source, noise\); choose"):
        opened(tmp_path, {**BASE, "data": {"source": "moons"}, "noise": "none"})
    assert (tmp_path / "config.json").read_bytes() == before


def test_a_folder_with_something_else_in_it_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("dear")
    with pytest.raises(InputError, match="exists and holds something else; choose another --out"):
        opened(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_empty_folder_is_taken(tmp_path):
    opened(tmp_path)
    assert (tmp_path / "config.json").exists()


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    path = tmp_path / "file"
    path.write_text("dear")
    for folder in (path, path / "below"):
        with pytest.raises(InputError, match="choose another --out"):
            opened(folder)
    assert path.read_text() == "dear"


@pytest.mark.parametrize("content", [b"", b'{"base": [', b"model: resnet", b"\xff\xfe", b"[]", b'{"runs": []}'])
def test_a_config_that_cannot_be_read_is_refused_and_left_alone(tmp_path, content):
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(InputError, match="choose another --out"):
        opened(tmp_path)
    assert (tmp_path / "config.json").read_bytes() == content


def test_while_a_folder_is_open_no_one_else_may_write_to_it(tmp_path):
    with Store.open(tmp_path, BASE, DATA):
        with pytest.raises(InputError, match=r"another process is at work in output folder .*; wait for it, or choose"):
            opened(tmp_path)
        assert Store.read(tmp_path).runs() == {}
    opened(tmp_path)


def test_a_folder_is_free_again_after_an_error(tmp_path):
    with pytest.raises(KeyError), Store.open(tmp_path, BASE, DATA):
        raise KeyError
    opened(tmp_path)


def test_a_folder_without_runs_is_no_place_to_read_from(tmp_path):
    with pytest.raises(InputError, match="holds no runs; give the folder that `labelnoise train` names"):
        Store.read(tmp_path)


def test_a_store_has_a_folder_for_each_pack(tmp_path):
    assert opened(tmp_path).journal("gce-1").folder == tmp_path / "gce-1"


def test_runs_are_those_of_finished_packs_in_the_order_of_finishing(tmp_path):
    store = opened(tmp_path)
    for name, when in (("gce-1", "2026-01-02"), ("ce-1", "2026-01-01"), ("mixup-1", None)):
        journal = store.journal(name)
        journal.begin(0)
        journal.write([*records(0, run=f"{name}a"), *records(0, 1, run=f"{name}b")])
        if when:
            journal.finish(facts(f"{name}a", f"{name}b", finished=when))
    runs = store.runs()
    assert list(runs) == ["ce-1a", "ce-1b", "gce-1a", "gce-1b"]
    assert runs["gce-1b"].records == records(0, 1, run="gce-1b")
    assert (runs["gce-1b"].noise_rate, runs["gce-1b"].failed) == (0.4, None)


def test_contents_have_the_runs_in_the_order_in_which_they_were_asked_for(tmp_path):
    store = opened(tmp_path)
    for name, when in (("gce", "2026-01-01"), ("ce", "2026-01-02"), ("tried", "2026-01-03")):
        store.journal(name).begin(0)
        store.journal(name).finish(facts(name, finished=when))
    assert list(store.contents().runs) == ["gce", "ce", "tried"]
    store.note_compared(asked("ce", "mixup", "gce"))
    assert list(store.contents().runs) == ["ce", "gce", "tried"]


def test_a_pack_that_was_finished_elsewhere_counts_here(journal, tmp_path):
    journal.begin(0)
    journal.write(records(0, 1))
    checkpoint.save(journal.details, {"T": torch.ones(1, 2)}, {})
    journal.finish(facts("abc"))
    here = opened(tmp_path / "here").journal("gce-1")
    checkpoint.save(here.checkpoint, {}, {})
    here.put(journal.files())
    assert sorted(path.name for path in here.folder.iterdir()) == [
        "details.safetensors",
        "finished.json",
        "records.jsonl",
    ]
    (run,) = opened(tmp_path / "here").runs().values()
    assert run.records == records(0, 1)


def test_what_is_there_already_is_not_written_again(journal, monkeypatch):
    journal.begin(0)
    journal.finish(facts("abc"))
    written = []
    monkeypatch.setattr("labelnoise.results.store.write", lambda path, _: written.append(path.name))
    journal.put(journal.files() | {"records.jsonl": b"others"})
    assert written == ["records.jsonl"]


def test_of_a_pack_that_was_finished_elsewhere_the_closing_facts_are_written_last(journal, tmp_path, monkeypatch):
    journal.begin(0)
    journal.finish(facts("abc"))
    written = []
    monkeypatch.setattr("labelnoise.results.store.write", lambda path, _: written.append(path.name))
    opened(tmp_path / "here").journal("gce-1").put(journal.files() | {"../odd": b""})
    assert written == ["records.jsonl", "finished.json"]


def test_a_run_has_its_own_rows_of_the_details(journal):
    journal.begin(0)
    checkpoint.save(journal.details, {"T": torch.stack([torch.eye(2), torch.ones(2, 2)])}, {})
    journal.finish(facts("a", "b"))
    assert [run.details["T"].sum().item() for run in journal.runs()] == [2, 4]


def test_what_a_search_found_is_kept_by_method(tmp_path):
    store = opened(tmp_path)
    assert store.searches == {}
    store.note_search("gce", ["a", "b"], "b")
    store.note_search("mixup", ["c"], "c")
    assert store.searches == {
        "gce": {"trials": ["a", "b"], "chosen": "b"},
        "mixup": {"trials": ["c"], "chosen": "c"},
    }


def test_a_journal_keeps_what_is_written(journal):
    journal.begin(0)
    journal.write(records(0))
    journal.write(records(1))
    assert journal.read() == records(0, 1)


def test_beginning_at_an_epoch_drops_what_comes_after(journal):
    journal.begin(0)
    journal.write(records(0, 1, 2, 3))
    journal.begin(2)
    assert journal.read() == records(0, 1)


def test_beginning_mends_a_torn_last_line(journal):
    journal.begin(0)
    journal.write(records(0, 1, 2))
    journal.records.write_bytes(journal.records.read_bytes()[:-30])
    journal.begin(2)
    journal.write(records(2))
    assert journal.read() == records(0, 1, 2)


def test_a_pack_is_finished_once_its_facts_are_noted(journal):
    journal.begin(0)
    assert not journal.finished
    journal.write([*records(0, 1, run="a"), *records(0, run="b")])
    journal.finish(facts("a", "b"))
    assert journal.finished
    assert journal.facts == facts("a", "b") | {"records": {"a": 2, "b": 1}}


def test_a_finished_pack_leaves_records_and_facts_alone(journal):
    journal.begin(0)
    for name in ("checkpoint.safetensors", ".0123456789abcdef.draft", "records.draft"):
        (journal.folder / name).write_text("half")
    journal.finish({})
    assert sorted(path.name for path in journal.folder.iterdir()) == ["finished.json", "records.jsonl"]


def test_a_pack_given_up_for_its_halves_tells_its_runs_and_keeps_what_these_begin_with(journal):
    journal.begin(0)
    journal.write(records(0))
    checkpoint.save(journal.checkpoint, {}, {})
    assert not journal.halved
    journal.halve(["b", "a"])
    assert journal.halved
    assert journal.halved_runs == {"a", "b"}
    assert not journal.finished
    assert journal.read()
    journal.clear()
    assert [path.name for path in journal.folder.iterdir()] == ["halved"]


def finish(store, run):
    journal = store.journal(f"ce-{run}")
    journal.begin(0)
    journal.finish(facts(run) | {"finished": "2026"})


@pytest.fixture
def killed(tmp_path):
    """Packs of a and b, b, and c, as processes that were killed have left them."""
    store = Store(tmp_path)
    finish(store, "b")
    whole, half, other = (store.journal(name) for name in ("ce-ab", "ce-b", "gce-c"))
    for journal in (half, other):
        journal.begin(0)
        checkpoint.save(journal.checkpoint, {}, {})
        journal.lock.touch()
    for folder in (store.folder, half.folder):
        (folder / ".0123456789abcdef.draft").touch()
    whole.halve(["a", "b"])
    whole.lock.touch()
    store.journal("ce-empty").folder.mkdir()
    return store


def left(store):
    return {str(path.relative_to(store.folder)) for path in store.folder.rglob("*") if path.is_file()}


def test_of_packs_that_are_finished_nothing_else_is_left(killed):
    mine = {"gce-c/.lock", "gce-c/checkpoint.safetensors", "gce-c/records.jsonl"}  # it goes on from there
    with killed.tidied():
        assert left(killed) == mine | {"ce-b/finished.json", "ce-b/records.jsonl", "ce-ab/halved", "ce-ab/.lock"}
        assert killed.halved() == [{"a", "b"}]
        assert not killed.journal("ce-empty").folder.exists()
        finish(killed, "a")
    assert left(killed) == mine | {f"ce-{run}/{name}" for run in "ab" for name in ("finished.json", "records.jsonl")}
    assert not killed.journal("ce-ab").folder.exists()


def test_what_is_left_is_removed_also_where_the_work_is_broken_off(killed):
    def work():
        with killed.tidied():
            finish(killed, "a")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert not killed.journal("ce-ab").folder.exists()


def test_records_that_are_inherited_are_all_there_are_and_an_older_checkpoint_is_not_kept(journal):
    journal.begin(0)
    journal.write(records(0, 1, 2))
    checkpoint.save(journal.checkpoint, {}, {})
    journal.inherit(records(0, run="def"))
    assert journal.read() == records(0, run="def")
    assert not journal.checkpoint.exists()


def test_beginning_discards_what_a_killed_process_left_half_written(journal):
    journal.folder.mkdir()
    (journal.folder / ".0123456789abcdef.draft").write_text("half")
    journal.begin(0)
    assert [path.name for path in journal.folder.iterdir()] == ["records.jsonl"]


def test_a_folder_begun_by_a_killed_process_is_taken(tmp_path):
    (tmp_path / ".0123456789abcdef.draft").write_text("half")
    opened(tmp_path)
    assert (tmp_path / "config.json").exists()


@pytest.fixture
def finished(tmp_path):
    """A store with one finished pack of two runs."""
    store = opened(tmp_path)
    journal = store.journal("ce-12")
    journal.begin(0)
    journal.write([*records(0, 1, run="a"), *records(0, 1, run="b")])
    checkpoint.save(journal.details, {"T": torch.stack([torch.eye(2), torch.ones(2, 2)])}, {})
    journal.finish(facts("a", "b"))
    return store


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *(("finished.json", content) for content in (b"", b"{", b"{}", b"[]", b'{"runs": [{}]}', b"\xff")),
        *(("records.jsonl", content) for content in (b"", b"\xff\xfe\n", b"7\n", None)),
    ],
)
def test_a_damaged_pack_is_one_sentence_with_advice_that_works(finished, name, content):
    pack = finished.folder / "ce-12"
    if content is None:
        (pack / name).unlink()
    else:
        (pack / name).write_bytes(content)
    with pytest.raises(InputError, match=rf"ce-12/{name} is .*; delete the folder {pack} to run these runs again$"):
        finished.runs()
    shutil.rmtree(pack)
    assert finished.runs() == {}


@pytest.mark.parametrize("lines", [1, 2, 3])
def test_records_cut_short_are_noticed(finished, lines):
    path = finished.folder / "ce-12" / "records.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:lines]))
    with pytest.raises(InputError, match=r"records\.jsonl is not whole; delete the folder .*ce-12 to run"):
        finished.runs()


def test_records_of_one_run_do_not_stand_for_those_of_another(finished):
    path = finished.folder / "ce-12" / "records.jsonl"
    path.write_text(path.read_text().replace('"run": "a"', '"run": "b"', 1))
    with pytest.raises(InputError, match=r"records\.jsonl is not whole"):
        finished.runs()


def test_damaged_details_are_one_sentence_and_lost_ones_are_none(finished):
    path = finished.folder / "ce-12" / "details.safetensors"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(InputError, match=r"details\.safetensors cannot be read .*; delete the folder .*ce-12 to run"):
        _ = finished.runs()["a"].details
    checkpoint.save(path, {"T": torch.zeros(3, 2, 2)}, {})
    with pytest.raises(
        InputError, match=r"details\.safetensors is not of these runs; delete the folder .*ce-12 to run"
    ):
        _ = finished.runs()["a"].details
    path.unlink()
    assert finished.runs()["a"].details == {}


@pytest.mark.parametrize("content", ["[]", "{", '{"gce": 3}', '{"gce": {"trials": []}}', "3"])
def test_damaged_searches_are_one_sentence_with_advice_that_works(finished, content):
    (finished.folder / "searches.json").write_text(content)
    with pytest.raises(InputError, match=r"searches\.json is damaged .*; delete it to search again$"):
        finished.contents()
    (finished.folder / "searches.json").unlink()
    assert finished.contents().searches == {}


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        "{",
        "{}",
        '{"runs": 3}',
        '{"runs": [3]}',
        '{"runs": ["a"], "asked": {"a": {"seed": 0}}}',
        '{"runs": ["a"], "latest": [0]}',
    ],
)
def test_a_damaged_note_of_what_is_compared_is_one_sentence_with_advice_that_works(finished, content):
    (finished.folder / "compared.json").write_text(content)
    for use in (finished.contents, lambda: finished.note_compared(asked("a"))):
        with pytest.raises(InputError, match=r"compared\.json is damaged .*; delete it to show all runs$"):
            use()
    (finished.folder / "compared.json").unlink()
    assert finished.contents().compared == {"a", "b"}


@pytest.mark.parametrize("content", ["{}", "[]", '{"base": 3}', '{"base": {}, "data": {}}'])
def test_a_damaged_setting_is_one_sentence(finished, content):
    (finished.folder / "config.json").write_text(content)
    with pytest.raises(InputError, match=r"config\.json is damaged .*; restore it, or train again with another --out$"):
        Store.read(finished.folder).contents()


def test_contents_are_of_the_moment_and_read_each_file_once(finished, monkeypatch):
    finished.note_search("ce", ["a", "b"], "b")
    finished.note_compared(asked("b"))
    opened_files = Counter()
    for name in ("read_text", "read_bytes"):
        original = getattr(Path, name)

        def counting(self, *args, original=original, **kwargs):
            opened_files[self.name] += 1
            return original(self, *args, **kwargs)

        monkeypatch.setattr(Path, name, counting)
    held = finished.contents()
    assert (list(held.runs), held.compared, held.searches["ce"]["chosen"]) == (["b", "a"], {"b"}, "b")
    names = ["config.json", "searches.json", "compared.json", "finished.json", "records.jsonl"]
    assert opened_files == dict.fromkeys(names, 1)
    finished.note_compared(asked("a"))
    assert finished.contents().compared == {"a", "b"}


def test_what_the_latest_command_has_asked_for_is_told_from_what_one_before_it_has(finished):
    finished.note_compared(asked("a", "c"))
    finished.note_compared(asked("b", "a"))
    held = finished.contents()
    assert (list(held.asked), held.compared, held.latest) == (["a", "c", "b"], {"a", "b", "c"}, {"a", "b"})


def test_a_note_without_what_the_latest_command_has_asked_for_is_read(finished):
    (finished.folder / "compared.json").write_text('{"runs": ["a", "c"]}')
    held = finished.contents()
    assert (held.asked, held.compared, held.latest) == ({}, {"a", "c"}, {"a", "c"})


def test_details_are_read_once_for_a_pack(finished, monkeypatch):
    loaded, load = [], checkpoint.load
    monkeypatch.setattr(checkpoint, "load", lambda path, advice: (loaded.append(path.name), load(path, advice))[1])
    runs = finished.runs().values()
    assert [run.details["T"].sum().item() for run in [*runs, *runs]] == [2, 4, 2, 4]
    assert loaded == ["details.safetensors"]
