import errno
import json
import os
from dataclasses import replace

import pytest

from labelnoise.errors import InputError
from labelnoise.results.record import Record, append, rewrite
from labelnoise.results.record import read as read_with_advice

RECORDS = [Record("abc", "gce", seed, "train", epoch, {"a": 0.1 * epoch}) for epoch in range(3) for seed in (0, 1)]


def read(path):
    return read_with_advice(path, "do this")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "records.jsonl"


def test_what_was_appended_is_read_in_order(path):
    append(path, RECORDS[:2])
    append(path, RECORDS[2:])
    assert read(path) == RECORDS


def test_numbers_come_back_exactly(path):
    record = replace(RECORDS[0], measures={"third": 1 / 3, "tiny": 5e-324, "accuracy": 0.9416666626930237})
    append(path, [record])
    assert read(path) == [record]


def test_a_record_is_one_line_of_json(path):
    append(path, RECORDS)
    lines = path.read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [record.epoch for record in RECORDS]


def test_a_file_that_is_not_there_holds_no_records(path):
    assert read(path) == []


@pytest.mark.parametrize("cut", [1, 2, 20, 80])
def test_a_torn_last_line_is_passed_over(path, cut):
    append(path, RECORDS)
    path.write_bytes(path.read_bytes()[:-cut])
    assert read(path) == RECORDS[:-1]


@pytest.mark.parametrize("line", ["", '{"run": "abc", "met', "[1, 2]", '{"run": "abc"}', "7"])
def test_a_torn_line_in_the_middle_is_refused(path, line):
    append(path, RECORDS[:1])
    with path.open("a") as file:
        file.write(line + "\n")
    append(path, RECORDS[1:])
    with pytest.raises(InputError, match=r"records\.jsonl is not a file of records \(.*\); do this$"):
        read(path)


def test_bytes_that_are_no_text_are_refused(path):
    path.write_bytes(b"\xff\xfe\n")
    with pytest.raises(InputError, match=r"records\.jsonl is not a file of records \(.*\); do this$"):
        read(path)


def test_a_letter_torn_in_the_last_line_is_passed_over(path):
    append(path, RECORDS)
    with path.open("ab") as file:
        file.write("é".encode()[:1])
    assert read(path) == RECORDS


def test_a_full_disk_is_one_sentence(path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    for add in (append, rewrite):
        with pytest.raises(InputError, match=r"cannot write .*records\.jsonl \(No space left on device\); free space"):
            add(path, RECORDS)


def test_rewriting_replaces_all_and_leaves_one_file(path):
    append(path, RECORDS)
    rewrite(path, RECORDS[:3])
    assert read(path) == RECORDS[:3]
    assert list(path.parent.iterdir()) == [path]


def test_rewriting_is_not_confused_by_an_earlier_attempt(path):
    path.with_suffix(".draft").write_text("half a line")
    rewrite(path, RECORDS)
    assert read(path) == RECORDS


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_null_in_strict_json_and_comes_back_as_nan(path, value):
    append(path, [replace(RECORDS[0], measures={"a": value, "b": 0.5})])
    assert json.loads(path.read_text(), parse_constant=pytest.fail)["measures"] == {"a": None, "b": 0.5}
    (record,) = read(path)
    assert record.measures["a"] != record.measures["a"]


def test_the_order_in_which_measures_were_met_does_not_matter(path):
    record = replace(RECORDS[0], measures={"b": 1.0, "a": 2.0})
    append(path, [record, replace(record, measures={"a": 2.0, "b": 1.0})])
    first, second = path.read_text().splitlines()
    assert first == second
