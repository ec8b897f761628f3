import os

import numpy as np
import pytest

from labelnoise.config import Data
from labelnoise.data import read
from labelnoise.errors import InputError
from labelnoise.reviewing.earlier import earlier
from labelnoise.reviewing.source import Source
from labelnoise.reviewing.written import check_folder, write_audit


@pytest.fixture
def audited(audit_of, tmp_path):
    """Writes an audit of some data into a folder, by force, and gives the folder."""

    def write(source, mode="drop"):
        write_audit(audit_of(source.dataset), source, mode, tmp_path / "audit", force=True)
        return tmp_path / "audit"

    return write


def cleaned(out):
    return {path.name for path in out.glob("cleaned*")}


def test_by_force_a_folder_holds_the_cleaned_data_of_the_last_audit_alone(people, photos, arrays, audited):
    digits = Source.read(Data("digits"))
    for source, mode, names in (
        (people, "drop", {"cleaned.csv"}),
        (photos, "drop", {"cleaned"}),
        (digits, "drop", {"cleaned.npz", "cleaned.json"}),
        (arrays, "drop", {"cleaned.npz"}),
        (photos, "drop", {"cleaned"}),
        (photos, "weight", {"cleaned.csv"}),
        (digits, "drop", {"cleaned.npz", "cleaned.json"}),
    ):
        out = audited(source, mode)
        assert cleaned(out) == names
    assert len(read(out / "cleaned.npz")) == len(digits.dataset)


def test_without_leave_nothing_goes(people, photos, audited):
    out = audited(photos)
    for name in ("audit.html", "issues.csv", "review.csv"):
        (out / name).unlink()
    with pytest.raises(InputError, match=r"cleaned exists; choose another --out, or --force to replace it"):
        check_folder(people, "drop", out, force=False)


def mine(out):
    (out / "cleaned.npz").write_text("mine")


def changed(out):
    (out / "cleaned.csv").write_text("x,label\n1,mine\n")
    os.utime(out / "cleaned.csv", ns=(0, 0))


def unsealed(out):
    (out / ".audit.json").unlink()


@pytest.mark.parametrize("people_did", [mine, changed, unsealed])
def test_what_an_audit_has_not_written_as_it_is_stays_and_is_named(people, photos, audited, people_did):
    out = audited(people)
    people_did(out)
    before = {path: path.read_bytes() for path in out.iterdir()}
    sentence = (
        r"cleaned\.(npz|csv) is not as an audit has written it, and would lie beside .*cleaned; move it elsewhere"
    )
    with pytest.raises(InputError, match=sentence):
        check_folder(photos, "drop", out, force=True)
    assert {path: path.read_bytes() for path in out.iterdir()} == before


def test_what_people_have_added_to_a_cleaned_folder_stays_and_is_named(people, photos, audited):
    out = audited(photos)
    (out / "cleaned" / "ant" / "new.png").touch()
    with pytest.raises(InputError, match=r"'ant/new\.png', which would be lost; move that elsewhere"):
        check_folder(people, "drop", out, force=True)


def test_data_that_are_or_list_what_an_earlier_audit_has_cleaned_are_not_taken_away(photos, audited, source_of):
    out = audited(photos)
    with pytest.raises(InputError, match="is the data themselves"):
        check_folder(source_of(out / "cleaned"), "weight", out, force=True)
    names = [path.relative_to(out) for path in sorted((out / "cleaned").rglob("*.png"))]
    (out / "mine.csv").write_text("\n".join(["path,label", *(f"{name},{name.parent.name}" for name in names)]))
    with pytest.raises(InputError, match="cleaned holds images of the data, which stay as they are"):
        check_folder(source_of(out / "mine.csv"), "drop", out, force=True)


def test_other_files_are_no_cleaned_data(people, photos, audited):
    out = audited(people)
    for name in ("cleaned.txt", "corrections.csv", "cleaned-old.csv"):
        (out / name).touch()
    np.save(out / "cleaned.npy", np.zeros(1))
    assert earlier(photos, "drop", out, force=True) == [out / "cleaned.csv"]
