"""The files of an audit in its folder."""

from pathlib import Path

from labelnoise.auditing.result import Audit
from labelnoise.errors import InputError
from labelnoise.reviewing.cleaned import check_cleaned, check_form, check_place, default_name, write_cleaned
from labelnoise.reviewing.corrections import by_audit, check_undecided
from labelnoise.reviewing.drafted import check_writable, drafted
from labelnoise.reviewing.earlier import earlier, seal
from labelnoise.reviewing.outcome import outcome
from labelnoise.reviewing.page import write_page
from labelnoise.reviewing.review import MOST, identity, write_issues, write_review
from labelnoise.reviewing.source import Source

PAGE, ISSUES, REVIEW = "audit.html", "issues.csv", "review.csv"


def check_folder(source: Source, mode: str, out: Path, *, force: bool) -> None:
    """Raise, before anything is computed, where an audit could not be written or would replace files without leave."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is no folder; choose another --out")
    check_form(source, mode)
    check_undecided(out / REVIEW)
    for name in (PAGE, ISSUES, REVIEW):
        check_place(source, out / name, force=force)
    check_cleaned(source, out / default_name(source, mode), force=force)
    earlier(source, mode, out, force=force)
    check_writable(out)


def write_audit(
    audit: Audit, source: Source, mode: str, out: Path, *, most: int = MOST, force: bool = False
) -> dict[str, Path]:
    """Write page, tables, and what the data become if the audit alone decides; says what is where."""
    check_folder(source, mode, out, force=force)
    name, cleaned = identity(audit, source.dataset), default_name(source, mode)
    with drafted(out, gone=earlier(source, mode, out, force=force)) as draft:
        write_page(audit, source, draft / PAGE, most)
        write_issues(audit, name, draft / ISSUES)
        write_review(audit, name, draft / REVIEW, most)
        done = outcome(source.dataset, by_audit(audit, source.dataset), mode)
        write_cleaned(source, done, draft / cleaned, home=out)
        seal(draft)
    return {"page": out / PAGE, "all rows": out / ISSUES, "to review": out / REVIEW, "cleaned": out / cleaned}
