import pytest

from labelnoise.data import read
from labelnoise.errors import InputError
from labelnoise.reviewing.written import check_folder, write_audit


def test_page_tables_and_cleaned_data_are_written(people, audit_of, tmp_path):
    paths = write_audit(audit_of(people.dataset, wrong=["3", "4"]), people, "drop", tmp_path / "a" / "audit")
    names = {path.name for path in (tmp_path / "a" / "audit").iterdir()}
    assert names == {".audit.json", *(path.name for path in paths.values())}
    assert read(paths["cleaned"]).ids == tuple(map(str, range(38)))


@pytest.mark.parametrize("name", ["audit.html", "issues.csv", "review.csv", "cleaned.csv"])
def test_nothing_is_replaced_without_leave(people, audit_of, tmp_path, name):
    out = tmp_path / "audit"
    out.mkdir()
    (out / name).write_text("mine")
    with pytest.raises(InputError, match=f"{name} exists"):
        check_folder(people, "drop", out, force=False)
    with pytest.raises(InputError, match=f"{name} exists"):
        write_audit(audit_of(people.dataset), people, "drop", out)
    assert [(path.name, path.read_text()) for path in out.iterdir()] == [(name, "mine")]
    write_audit(audit_of(people.dataset), people, "drop", out, force=True)
    assert (out / name).read_text() != "mine"


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("cells", ["tall,", ",reject"])
def test_decisions_are_not_replaced_even_by_force(people, audit_of, tmp_path, cells, force):
    review = write_audit(audit_of(people.dataset, wrong=["3"]), people, "drop", tmp_path / "audit")["to review"]
    written = review.read_bytes().replace(b",,,", f",{cells},".encode(), 1)
    review.write_bytes(written)
    with pytest.raises(InputError, match=r"review\.csv holds decisions, which would be lost; move it elsewhere"):
        check_folder(people, "drop", tmp_path / "audit", force=force)
    assert review.read_bytes() == written


def test_a_file_is_no_folder(people, tmp_path):
    with pytest.raises(InputError, match="is no folder"):
        check_folder(people, "drop", people.path, force=True)


def test_a_folder_of_images_is_written_again_by_force(photos, audit_of, tmp_path):
    for wrong in ([], ["ant/0.png"]):
        paths = write_audit(audit_of(photos.dataset, wrong=wrong), photos, "drop", tmp_path / "audit", force=True)
    assert len(read(paths["cleaned"])) == 11


def test_the_data_are_not_replaced_by_a_table_of_the_audit(people, source_of, tmp_path):
    people.path.rename(tmp_path / "issues.csv")
    with pytest.raises(InputError, match="is the data themselves"):
        check_folder(source_of(tmp_path / "issues.csv"), "drop", tmp_path, force=True)


def test_what_cannot_be_written_is_told_before_and_nothing_is_left(people, photos, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    for source, out in ((people, people.path / "audit"), (photos, photos.path / "audit")):
        with pytest.raises(InputError):
            check_folder(source, "drop", out, force=False)
    check_folder(people, "drop", tmp_path / "new" / "audit", force=False)
    assert sorted(tmp_path.rglob("*")) == before


def test_an_audit_that_fails_leaves_nothing(people, audit_of, tmp_path):
    people.path.write_text(people.path.read_text() + "1,a,2,tall\n")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="other rows than were audited"):
        write_audit(audit_of(people.dataset), people, "drop", tmp_path / "new" / "audit")
    assert sorted(tmp_path.rglob("*")) == before
