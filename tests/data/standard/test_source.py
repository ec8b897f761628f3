import gzip
import hashlib
import io
import os
import tarfile
import zipfile

import pytest

from labelnoise.data.standard import source as module
from labelnoise.data.standard.source import Source
from labelnoise.errors import InputError

FILES = {"deep/er/a": b"content of a", "b.gz": gzip.compress(b"content of b")}


def in_folder(path, files=FILES):
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path


def in_tar(path, files=FILES, mode="w"):
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def in_zip(path, files=FILES):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


MAKERS = {
    "folder": lambda path, files=FILES: in_folder(path / "folder", files),
    "a.tar": lambda path, files=FILES: in_tar(path / "a.tar", files),
    "a.tar.gz": lambda path, files=FILES: in_tar(path / "a.tar.gz", files, "w:gz"),
    "a.tgz": lambda path, files=FILES: in_tar(path / "a.tgz", files, "w:gz"),
    "gzip named .tar": lambda path, files=FILES: in_tar(path / "a.tar", files, "w:gz"),
    "a.zip": lambda path, files=FILES: in_zip(path / "a.zip", files),
}
ARCHIVES = [name for name in MAKERS if name != "folder"]


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_files_are_found_by_name_wherever_they_lie(make, tmp_path):
    source = Source.open(make(tmp_path))
    assert source.find("a") == "deep/er/a"
    assert source.find("c", "b.gz") == "b.gz"
    assert source.find("er") is None
    assert source.find("deep/er/a") is None


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_file_that_ends_in_gz_is_decompressed(make, tmp_path):
    source = Source.open(make(tmp_path))
    assert source.read("deep/er/a", most=100) == b"content of a"
    assert source.read("b.gz", most=100) == b"content of b"


@pytest.mark.parametrize("make", [MAKERS[name] for name in ARCHIVES], ids=ARCHIVES)
def test_reading_an_archive_writes_nothing(make, tmp_path):
    path = make(tmp_path)
    source = Source.open(path)
    source.read("deep/er/a", most=100)
    assert list(tmp_path.iterdir()) == [path]


def test_a_single_file_is_a_source_of_its_own(tmp_path):
    source = Source.open(in_folder(tmp_path, {"a.mat": b"A"}) / "a.mat")
    assert source.members == ("a.mat",)
    assert source.read("a.mat", most=1) == b"A"
    assert source.origin("a.mat") == f"{tmp_path}/a.mat"


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(InputError, match=r"^there is no file or folder '.*nothing'; name what you downloaded$"):
        Source.open(tmp_path / "nothing")
    with pytest.raises(InputError) as error:
        Source.open(tmp_path).require("a", "a.gz")
    assert str(error.value) == f"{tmp_path} holds no file 'a'; name the folder or archive with all official files"


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_two_files_of_one_name_and_different_content_are_refused(make, tmp_path):
    source = Source.open(make(tmp_path, {"u/a": b"A", "v/a": b"a", "u/b": b"B", "v/b": b"B"}))
    assert source.find("b") == "u/b"
    with pytest.raises(InputError, match=r"holds several files 'a': u/a, v/a; name the folder of one$"):
        source.find("a")


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_no_more_bytes_are_read_than_allowed(make, tmp_path):
    bomb = gzip.compress(bytes(10_000_000))
    source = Source.open(make(tmp_path, {"a": bytes(101), "bomb.gz": bomb}))
    assert source.read("a", most=101) == bytes(101)
    for member in ("a", "bomb.gz"):
        with pytest.raises(InputError, match=rf"{member} is larger than the official file; download it again$"):
            source.read(member, most=100)


def test_a_tar_archive_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_UNPACKED", 50_000)
    with pytest.raises(InputError, match=r"unpacks to more than 50,000 bytes; it is no official archive$"):
        Source.open(in_tar(tmp_path / "a.tar.gz", {"a": bytes(60_000)}, "w:gz"))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_too_many_files_are_refused(make, tmp_path, monkeypatch):
    path = make(tmp_path, {str(number): b"" for number in range(6)})
    monkeypatch.setattr(module, "MOST_MEMBERS", 5)
    with pytest.raises(InputError, match=r"holds more than 5 files; name the folder of the official files alone$"):
        Source.open(path)


@pytest.mark.parametrize("kind", ["md5", "sha256"])
def test_content_is_compared_with_its_digest(kind, tmp_path):
    source = Source.open(in_folder(tmp_path))
    right = hashlib.new(kind, b"content of b").hexdigest()
    assert source.checked("b.gz", f"{kind}:{right}", most=100) == b"content of b"
    wrong = "0" * len(right)
    with pytest.raises(InputError) as error:
        source.checked("b.gz", f"{kind}:{wrong}", most=100)
    assert str(error.value) == (
        f"{tmp_path}/b.gz has the {kind} {right}, the official file has {wrong}; download it again"
    )


def test_a_file_that_is_known_under_another_name_is_called_by_it(tmp_path):
    source = Source.open(in_folder(tmp_path, {"images": b"labels"}))
    known = {f"md5:{hashlib.md5(b'labels').hexdigest()}": "the labels"}
    with pytest.raises(InputError, match=r"images is really the labels; put the right file in its place$"):
        source.checked("images", "md5:0", most=100, known=known)


@pytest.mark.parametrize("name", ["/etc/passwd", "../a", "u/../../a", "..", "C:\\a", "c:a", "u\\..\\a", "\\\\host\\a"])
@pytest.mark.parametrize("make", [MAKERS[name] for name in ARCHIVES], ids=ARCHIVES)
def test_an_archive_that_writes_outside_its_folder_is_refused(make, name, tmp_path):
    with pytest.raises(InputError, match=r", which writes outside its folder; it is no official archive, and nothing"):
        Source.open(make(tmp_path, {"a": b"A", name: b"?"}))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_a_tar_archive_with_a_link_or_device_is_refused(kind, tmp_path):
    member = tarfile.TarInfo("a")
    member.type, member.linkname = kind, "/etc/passwd"
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.addfile(member)
    with pytest.raises(InputError, match=r"holds 'a', a link or device that may lead outside its folder; "):
        Source.open(tmp_path / "a.tar")


@pytest.mark.parametrize("mode", [0o120777, 0o010644, 0o020644, 0o060644, 0o140644])
def test_a_zip_archive_with_a_link_or_device_is_refused(mode, tmp_path):
    member = zipfile.ZipInfo("a")
    member.external_attr = mode << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(member, "/etc/passwd")
    with pytest.raises(InputError, match=r"holds 'a', a link or device that may lead outside its folder; "):
        Source.open(tmp_path / "a.zip")


def test_links_in_a_folder_are_followed_and_a_circle_ends(tmp_path):
    in_folder(tmp_path / "elsewhere", {"a": b"A"})
    folder = in_folder(tmp_path / "folder", {"b": b"B"})
    (folder / "c").symlink_to(folder / "b")
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    (folder / "circle").symlink_to(folder)
    (folder / "lost").symlink_to(tmp_path / "nothing")
    source = Source.open(folder)
    assert sorted(source.members) == ["b", "c", "linked/a"]
    assert source.read("linked/a", most=1) == b"A"


def test_a_pipe_in_a_folder_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "a")
    assert Source.open(tmp_path).members == ()


@pytest.mark.parametrize("make", [MAKERS[name] for name in ARCHIVES], ids=ARCHIVES)
@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.9])
def test_an_archive_that_is_cut_short_is_refused(make, share, tmp_path):
    path = make(tmp_path, {"a": os.urandom(100_000)})
    path.write_bytes(path.read_bytes()[: int(share * 100_000)])
    with pytest.raises(InputError, match=r"a\.\w+(\.gz)? is damaged or cut short; download it again$"):
        Source.open(path)


@pytest.mark.parametrize("make", [MAKERS[name] for name in ARCHIVES], ids=ARCHIVES)
def test_an_archive_of_rubbish_is_refused(make, tmp_path):
    path = make(tmp_path)
    path.write_bytes(b"rubbish" * 1000)
    with pytest.raises(InputError, match=r"is damaged or cut short; download it again$"):
        Source.open(path)


def test_a_member_whose_bytes_were_changed_is_refused(tmp_path):
    path = in_zip(tmp_path / "a.zip", {"a": os.urandom(1000)})
    content = bytearray(path.read_bytes())
    content[500] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.zip: a is damaged or cut short; download it again$"):
        Source.open(path).read("a", most=1000)


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(os.urandom(1000))[:500]])
def test_a_gz_file_that_is_damaged_is_refused(content, tmp_path):
    source = Source.open(in_folder(tmp_path, {"a.gz": content}))
    with pytest.raises(InputError, match=r"a\.gz is damaged or cut short; download it again$"):
        source.read("a.gz", most=10_000)


def test_an_encrypted_member_is_refused(tmp_path):
    path = in_zip(tmp_path / "a.zip", {"a": b"A"})
    content = bytearray(path.read_bytes())
    for signature, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.index(signature) + flags] |= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.zip: a is damaged or cut short; download it again$"):
        Source.open(path).read("a", most=10)


def test_a_member_that_is_there_twice_is_refused(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for _ in range(2):
            archive.addfile(tarfile.TarInfo("a"))
    with pytest.raises(InputError, match=r"holds 'a' 2 times; download it again$"):
        Source.open(tmp_path / "a.tar")


@pytest.mark.parametrize("size", [-1, -512, -1024, -1536, -2048])
def test_a_tar_archive_whose_list_is_endless_is_refused(size, tmp_path):
    backwards = tarfile.TarInfo("b")
    backwards.size = size
    (tmp_path / "a.tar").write_bytes(
        tarfile.TarInfo("a").tobuf() * 2 + backwards.tobuf(tarfile.GNU_FORMAT) + bytes(10_240)
    )
    with pytest.raises(InputError, match=r"a\.tar (is damaged or cut short|holds 'a' 2 times); download it again$"):
        Source.open(tmp_path / "a.tar")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path):
    in_folder(tmp_path, {"a": b"A"})
    (tmp_path / "a").chmod(0)
    with pytest.raises(InputError, match=r"^cannot read .*a \(Permission denied\); mend that$"):
        Source.open(tmp_path).read("a", most=1)
