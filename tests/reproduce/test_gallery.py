from labelnoise.reproduce.gallery import gallery


def test_a_computed_figure_is_shown_with_its_command(tmp_path):
    folder = tmp_path / "results" / "logistic_normal" / "fig2-paper"
    folder.mkdir(parents=True)
    (folder / "a.svg").write_text("<svg/>")
    title, shows, picture, made = gallery(tmp_path / "results", "../results")
    assert title == "### logistic_normal/fig2"
    assert picture == f"![{shows}](../results/logistic_normal/fig2-paper/a.svg)"
    assert made == "`labelnoise reproduce logistic_normal/fig2`: computed, nothing is trained."


def test_a_trained_figure_says_of_which_runs_it_is_and_by_which_code(tmp_path, record, sketch):
    folder = tmp_path / "pictures" / sketch.folder.name / "fig3-fast"
    folder.mkdir(parents=True)
    (folder / "runs.jsonl").write_bytes((record() / "runs.jsonl").read_bytes())
    (folder / "a.svg").write_text("<svg/>")
    *_, made = gallery(tmp_path / "pictures", "..")
    assert made == (
        f"`labelnoise reproduce {sketch.folder.name}/fig3 --recipe fast`: runs 4 of seeds 0, 1, finished 2026-05-04, "
        "device cpu, execution packed, precision auto, software labelnoise 0.1, torch 2.11, commit c0ffee."
    )


def test_without_pictures_there_is_nothing(tmp_path):
    assert list(gallery(tmp_path, "..")) == []
