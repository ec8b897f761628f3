import json

import pytest

from labelnoise.errors import InputError
from labelnoise.results.facts import NUMBER, fits, read_facts, run_again, write_facts

SHAPE = {"runs": [{"run": str, "rate": NUMBER | None}], "device": str}
FACTS = {"runs": [{"run": "a", "rate": 0.5}, {"run": "b", "rate": None}], "device": "cpu"}


def test_facts_come_back(tmp_path):
    write_facts(tmp_path / "f.json", FACTS)
    assert read_facts(tmp_path / "f.json", SHAPE, "") == json.loads((tmp_path / "f.json").read_text()) == FACTS


@pytest.mark.parametrize("value", [FACTS, FACTS | {"more": 1}, {"runs": [], "device": ""}])
def test_what_has_all_keys_fits(value):
    assert fits(value, SHAPE)


@pytest.mark.parametrize(
    "value", [{}, [], None, 3, {"device": "cpu"}, FACTS | {"runs": {}}, FACTS | {"runs": [3]}, FACTS | {"device": None}]
)
def test_what_lacks_a_key_or_has_another_type_does_not_fit(value):
    assert not fits(value, SHAPE)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b"{}", b'{"runs": 3}', b"[" * 100_000])
def test_a_damaged_file_is_one_sentence_with_its_path_and_the_advice(tmp_path, content):
    (tmp_path / "f.json").write_bytes(content)
    with pytest.raises(InputError, match=r"f\.json is damaged \(.*\); do this$"):
        read_facts(tmp_path / "f.json", SHAPE, "do this")


def test_the_advice_on_a_pack_names_its_folder(tmp_path):
    assert run_again(tmp_path / "ce-12") == f"delete the folder {tmp_path}/ce-12 to run these runs again"
