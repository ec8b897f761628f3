"""The files of an audit in its folder."""

from pathlib import Path

from labelnoise.auditing.result import Audit
from labelnoise.errors import InputError
from labelnoise.files import explained
from labelnoise.reviewing.cleaned import check_place, default_name, write_cleaned
from labelnoise.reviewing.corrections import by_audit
from labelnoise.reviewing.outcome import outcome
from labelnoise.reviewing.page import write_page
from labelnoise.reviewing.review import identity, write_issues, write_review
from labelnoise.reviewing.source import Source

PAGE, ISSUES, REVIEW = "audit.html", "issues.csv", "review.csv"


def check_folder(source: Source, mode: str, out: Path, *, force: bool) -> None:
    """Raise, before anything is computed, where a file would be replaced without leave."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is no folder; choose another --out")
    for path in (out / name for name in (PAGE, ISSUES, REVIEW)):
        if path.exists() and not force:
            raise InputError(f"{path} exists; choose another --out, or --force to replace it")
    check_place(source, out / default_name(source, mode), force=force)


def write_audit(audit: Audit, source: Source, mode: str, out: Path, *, force: bool = False) -> dict[str, Path]:
    """Write page, tables, and what the data become if the audit alone decides; says what is where."""
    check_folder(source, mode, out, force=force)
    with explained(out):
        out.mkdir(parents=True, exist_ok=True)
    paths = {"page": out / PAGE, "all rows": out / ISSUES, "to review": out / REVIEW}
    name = identity(audit, source.dataset)
    write_page(audit, source, paths["page"])
    write_issues(audit, name, paths["all rows"])
    write_review(audit, name, paths["to review"])
    cleaned = out / default_name(source, mode)
    write_cleaned(source, outcome(source.dataset, by_audit(audit, source.dataset), mode), cleaned, force=force)
    return paths | {"cleaned": cleaned}
