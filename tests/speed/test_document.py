from labelnoise.speed.document import table

FIGURE = {
    "name": "packed, 45 runs",
    "value": 4_873_467.2,
    "unit": "images/s",
    "ratios": {"plain loop": 77.284},
    "note": "fast",
}
TARGET = {"bound": 60, "of": "plain loop", "most": False, "reached": 1.288}
REPORT = {
    "device": "GPU 1",
    "cores": 16,
    "versions": {"torch": "2.11"},
    "commit": "0123456789abcdef",
    "date": "2026-02-03T10:00:00+00:00",
    "command": "labelnoise speed --only lenet5-ce",
    "rows": {
        "lenet5-ce": {"about": "LeNet-5", "figures": [FIGURE | {"targets": [TARGET]}]},
        "mnist": {"left out": "."},
    },
}


def test_a_figure_is_a_line_with_its_ratios_and_targets():
    cells = ["`lenet5-ce`", "packed, 45 runs", "4,873,467 images/s", "77.3 × plain loop"]
    cells += ["at least 60 × plain loop: 129 %", "fast"]
    assert f"| {' | '.join(cells)} |" in table([REPORT]).splitlines()


def test_a_row_that_was_left_out_has_no_line():
    assert "mnist" not in table([REPORT])


def test_a_row_that_was_measured_twice_tells_by_which_commit():
    told = table([REPORT, REPORT | {"commit": "fedcba9876543210"}])
    assert "| `lenet5-ce`, 0123456789 | packed, 45 runs |" in told
    assert "| `lenet5-ce`, fedcba9876 | packed, 45 runs |" in told


def test_a_bound_from_above_and_a_figure_that_was_not_measured_are_told():
    target = {"bound": 270, "of": "", "most": True, "reached": 1.25}
    figure = {"name": "wall time", "value": None, "unit": "s", "ratios": {}, "note": "", "targets": [target]}
    assert "| `mnist` | wall time | – |  | at most 270: 80 % of what is allowed |  |" in table(
        [REPORT | {"rows": {"mnist": {"figures": [figure]}}}]
    )


def test_place_command_commit_and_day_are_told_once_for_each_report():
    told = table([REPORT, REPORT | {"command": "labelnoise speed --only start"}])
    assert told.count("GPU 1, 16 cores, torch 2.11") == 1
    assert "    labelnoise speed --only lenet5-ce  # 0123456789, 2026-02-03" in told
    assert "    labelnoise speed --only start  # 0123456789, 2026-02-03" in told
