import pytest

from labelnoise.errors import InputError
from labelnoise.results.record import Record
from labelnoise.results.store import Journal, Store

SETTINGS = {"runs": [{"seed": 0, "betas": (0.9, 0.999)}]}


def records(*epochs):
    return [Record("abc", "ce", 0, "train", epoch, {"a": 1.0}) for epoch in epochs]


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "pack")


def test_a_folder_opens_again_for_the_same_settings(tmp_path):
    folder = tmp_path / "runs" / "deeper"
    assert Store.open(folder, SETTINGS).folder == folder
    assert Store.open(folder, SETTINGS).folder == folder


def test_a_folder_of_another_config_is_refused_and_left_as_it_was(tmp_path):
    Store.open(tmp_path, SETTINGS)
    before = (tmp_path / "config.json").read_bytes()
    with pytest.raises(InputError, match="holds runs of another config; choose another --out"):
        Store.open(tmp_path, {"runs": []})
    assert (tmp_path / "config.json").read_bytes() == before


def test_a_folder_with_something_else_in_it_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("dear")
    with pytest.raises(InputError, match="exists and holds something else; choose another --out"):
        Store.open(tmp_path, SETTINGS)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_empty_folder_is_taken(tmp_path):
    Store.open(tmp_path, SETTINGS)
    assert (tmp_path / "config.json").exists()


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    path = tmp_path / "file"
    path.write_text("dear")
    for folder in (path, path / "below"):
        with pytest.raises(InputError, match="choose another --out"):
            Store.open(folder, SETTINGS)
    assert path.read_text() == "dear"


@pytest.mark.parametrize("content", [b"", b'{"runs": [', b"model: resnet", b"\xff\xfe"])
def test_a_config_that_cannot_be_read_is_refused_and_left_alone(tmp_path, content):
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(InputError, match="choose another --out"):
        Store.open(tmp_path, SETTINGS)
    assert (tmp_path / "config.json").read_bytes() == content


def test_a_store_has_a_folder_for_each_pack(tmp_path):
    store = Store.open(tmp_path, SETTINGS)
    assert store.journal("gce-1").folder == tmp_path / "gce-1"


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
    journal.finish({"seconds": 1.5})
    assert journal.finished
    assert journal.facts == {"seconds": 1.5}


def test_a_finished_pack_leaves_records_and_facts_alone(journal):
    journal.begin(0)
    for name in ("checkpoint.safetensors", "checkpoint.draft", "records.draft"):
        (journal.folder / name).write_text("half")
    journal.finish({})
    assert sorted(path.name for path in journal.folder.iterdir()) == ["finished.json", "records.jsonl"]
