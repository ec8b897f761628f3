import pytest

from labelnoise.reproduce.committed import committed
from labelnoise.reproduce.results_page import page


@pytest.fixture
def shown(tmp_path):
    return lambda: page(committed(tmp_path / "results"), tmp_path / "results").replace("\N{NO-BREAK SPACE}", " ")


def test_without_records_nothing_is_claimed(shown):
    assert shown().rstrip().endswith("Nothing is measured yet.")


def test_methods_are_down_and_noises_across_with_what_came_out_wrong(record, shown):
    record()
    head = "|  | none<br>39.0 % wrong | symmetric:0.4<br>39.0 % wrong |"
    near = "**90.50 ± 0.71**<br>**90.00 ± 1.00**<br>+0.50 within"
    far = "**51.00 ± 1.41**<br>70.00 ± 2.00<br>-19.00 **off**"
    assert f"**digits**\n\n{head}\n| --- | --- | --- |\n| CE | {near} | {far} |\n" in shown()


def test_parts_that_have_one_noise_each_stand_side_by_side(tiny, record, shown):
    with (tiny.folder / "table1.csv").open("a") as file:
        file.write("moons,none,CE,80.0,1.0,1\n")
    recipe = tiny.folder / "paper.yaml"
    recipe.write_text(recipe.read_text().replace("[digits]", "[digits, moons]"))
    tiny.facts["recipes"][0]["for"] = ["digits", "moons"]
    record({("CE", "none"): (0.90, 0.91)})
    assert "|  | digits<br>none<br>39.0 % wrong | moons<br>none<br>39.0 % wrong |" in shown()


def test_cells_that_are_not_measured_are_empty(record, shown):
    record({("CE", "none"): (0.9, 0.91), ("GCE", "symmetric:0.4"): (0.8, 0.81)})
    assert [line.split(" | ")[-1] for line in shown().splitlines() if line.startswith("| CE |")] == [" |"]


def test_the_other_epochs_are_in_the_folded_table(record, shown):
    record()
    line = "| digits | none | 39.0 % | CE | 2 | 90.50 ± 0.71 | 91.50 ± 0.71 | 92.50 ± 0.71 | 90.50 ± 0.71 * |"
    assert line in shown().partition("<details>")[2]


def test_the_overview_counts_and_leads_to_the_sections(record, shown):
    record()
    assert "| [tiny/table1, recipe paper](#tinytable1-recipe-paper) | 2 of 4 | 1 | 0 | 0 | 0 | 1 | 0 |" in shown()
    assert "\n## tiny/table1, recipe paper\n" in shown()


def test_the_overview_counts_variants_without_a_published_figure_apart(tiny, record, shown):
    record({("CE", "none"): (0.90, 0.91), ("GCE", "none"): (0.89, 0.9)})
    path = tiny.folder / "table1.csv"
    path.write_text(path.read_text().replace("none,GCE,89.0,1.0,1", "none,GCE,,,"))
    assert "(#tinytable1-recipe-paper) | 1 of 3, and 1 variant of ours | 1 | 0 | 0 | 0 | 0 | 0 |" in shown()


def test_each_recipe_has_a_section_of_its_own(record, shown):
    record()
    record({("CE", "none"): (0.7, 0.71)}, "fast")
    literal = shown().partition("## tiny/table1, recipe paper")[2]
    assert "70.50" in shown()
    assert "70.50" not in literal
    assert "Recipe fast: fewer epochs, one setting for all noises. Epoch of ours: last." in shown()


def test_what_is_off_has_its_reason_or_the_word_that_nobody_knows(record, explain, shown):
    record()
    assert "\n- digits, CE, symmetric:0.4 (-19.00, p = 0.0082): No reason is known yet.\n" in shown()
    explain("{noise: symmetric:0.4, reason: It learns wrong labels by heart.}")
    assert "\n- digits, CE, symmetric:0.4 (-19.00, p = 0.0082): It learns wrong labels by heart.\n" in shown()


def test_noises_of_one_method_with_one_reason_share_a_line(record, shown):
    record({("CE", "none"): (0.5, 0.51), ("CE", "symmetric:0.4"): (None, None)})
    assert "\n- digits, CE, none (-39.50, p = 0.00048), symmetric:0.4 (no figure): No reason is known yet.\n" in shown()


def test_where_ours_spread_far_more_than_the_published_each_seed_is_told(tiny, record, shown):
    recipe = tiny.folder / "paper.yaml"
    recipe.write_text(recipe.read_text().replace("{seeds: 2,", "{seeds: 5,"))
    record({("CE", "none"): (0.91, 0.6, None, 0.92), ("CE", "symmetric:0.4"): (0.7, 0.71)})
    told = shown().partition("Seed by seed:\n\n")[2].partition("\n\n")[0]
    assert told == "- digits, CE, none: 91.00, 60.00, failed, 92.00"


def test_where_no_run_came_to_its_end_it_is_said(record, shown):
    record({("CE", "none"): (None, None)})
    assert "| CE | –<br>**90.00 ± 1.00**<br>no figure<br>2 of 2 runs failed |" in shown()


def test_runs_that_failed_are_told_beside_what_the_others_reached(record, shown):
    record({("CE", "none"): (0.90, 0.91, None)})
    assert "| CE | **90.50 ± 0.71**<br>**90.00 ± 1.00**<br>+0.50<br>1 of 3 runs failed |" in shown()


def test_a_cell_that_has_not_as_many_runs_as_others_says_how_many(record, shown):
    folder = record(
        {("CE", "none"): (0.9, 0.91), ("CE", "symmetric:0.4"): (0.7, 0.71, 0.72), ("GCE", "none"): (0.8, 0.9)}
    )
    assert "+1.00 within<br>3 runs |" in shown()
    lines = (folder / "runs.jsonl").read_text().splitlines(keepends=True)
    (folder / "runs.jsonl").write_text(
        "".join(line for line in lines if '"noise": "none"' in line or '"seed": 0' in line)
    )
    assert "<br>1 of 3 runs |" in shown()


def test_runs_of_a_cell_that_were_not_made_alike_are_told(record, shown):
    record({("CE", "none"): (0.9, 0.91)})
    assert "made alike" not in shown()
    record({("CE", "none"): (0.9, 0.91, 0.92)}, commit="decade")
    alike = shown()
    record({("CE", "none"): (0.9,)}, commit="c0ffee")
    assert "made alike" not in alike
    assert "\n- digits, none, CE: its runs were not made alike: code c0ffee (1 run), decade (2 runs)\n" in shown()


def test_the_deviations_of_measured_papers_are_told(record, shown):
    record()
    assert "<details><summary>tiny: 1 deviation</summary>\n\n- The paper is made up.\n" in shown()
