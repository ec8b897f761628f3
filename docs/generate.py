"""Write what the documents repeat from the code and from committed records.

These are docs/config.md, the table of data sets in docs/data.md, that of measurements in docs/performance.md,
docs/results.md and docs/status.md.

python docs/generate.py
"""

import inspect
import json
import tokenize
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import yaml

from labelnoise.config import Job, Named
from labelnoise.configure import plain
from labelnoise.data.standard.catalogue import CARDS, Card
from labelnoise.reproduce import results_page, status_page
from labelnoise.reproduce.committed import committed
from labelnoise.speed import document

PAGE = Path(__file__).with_name("config.md")
DATA_PAGE = Path(__file__).with_name("data.md")
SPEED_PAGE = Path(__file__).with_name("performance.md")
RESULTS = Path(__file__).parents[1] / "results"
BEGIN = "<!-- Written by docs/generate.py from the catalogue: change that, then run `make docs`. -->\n"
MEASURED = "<!-- Written by docs/generate.py from results/speed: measure anew, then run `make docs`. -->\n"
END = "<!-- end -->"
KINDS = {float: "number", int: "whole number", bool: "true or false", str: "text", Named: "name, or name and settings"}
LISTED = {float: "numbers", int: "whole numbers", str: "text", Named: "names, with or without settings"}
INTRO = """\
# Settings

<!-- Written by docs/generate.py from src/labelnoise/config.py: change that, then run `make docs`. -->

Every setting of a comparison has a place in one tree and a default. Where several places set the same key, the later
one in this list wins:

1. what fits the data: its recipe, if it has one
2. the file after `--config`
3. the options of the command, such as `--epochs`
4. `key=value` at the end of the command, with the dotted keys of the tables below

Whatever they leave out keeps its default. `--print-config` shows the outcome as a file and trains nothing.

    labelnoise train --config survey.yaml --seeds 5 train.optimiser.lr=0.01 methods.gce.q=0.5
    labelnoise train --config survey.yaml --print-config

A config file is plain YAML in UTF-8, and need not be longer than what it changes. This is a whole one, `survey.yaml`:

```yaml
data:
  source: survey.csv
  label_column: answer
  drop: [respondent, date]
noise: none                 # the labels are wrong enough as they are
methods:
  ce:
  gce: {q: 0.6}
  co_teaching: {forget: 0.2, ramp: 5}
seeds: 5
net:
  name: mlp
  settings: {widths: "128,64"}
train:
  epochs: 60
  optimiser: {name: sgd, lr: 0.05, momentum: 0.9}
  schedule: {name: step, milestones: [30, 45]}
split: {validation: 0.15, test: 0.25}
```

A value after `=` is read as in a file: `train.augment.flip=true`, `train.optimiser.lr=1e-3`,
`"train.schedule.milestones=[30, 45]"`. Text that looks like something else needs quotes, in a file as well as here:
`"data.label_column='2024'"`.

Three sections have short forms:

- `methods` is a selection (`ce,gce`, or a list) or names with settings, as in the file above. A selection replaces the
  one before it, and methods that stay keep their settings. Names with settings add to the one before it, or change it:
  `methods.gce.q=0.5` sets one number and keeps the rest.
- `net: mlp` is a network by its name alone. Another network begins without the settings of the one before.
- `data: moons` is short for `data.source`.

`labelnoise list methods`, `labelnoise list nets` and `labelnoise list data` show the names.
"""


def comments(cls: type) -> dict[str, str]:
    """The comment behind each field of a dataclass, by the name that begins the line."""
    lines = inspect.getsource(cls).splitlines()
    tokens = tokenize.generate_tokens(StringIO(inspect.getsource(cls)).readline)
    found = [token for token in tokens if token.type == tokenize.COMMENT]
    return {lines[each.start[0] - 1].split(":")[0].strip(): each.string.lstrip("# ") for each in found}


def kind(hint: Any) -> str:
    """A type as a person would say it."""
    options = get_args(hint)
    if get_origin(hint) is Literal:
        return ", ".join(f"`{option}`" for option in options)
    if get_origin(hint) is tuple:
        return f"list of {'' if options[-1] is Ellipsis else f'{len(options)} '}{LISTED[options[0]]}"
    return KINDS.get(hint, "section" if is_dataclass(hint) else "settings")


def shown(value: Any) -> str:
    """A default as it would stand in a file, in one line; methods by their names."""
    if isinstance(value, dict) and value:
        value = ",".join(value)
    text = yaml.safe_dump(value, default_flow_style=True, width=1000).removesuffix("\n").removesuffix("\n...")
    return f"`{text}`" if value != "" else '`""`'


def sections(config: Any, place: str = "") -> Iterator[str]:
    """The section of a dataclass and those of the dataclasses in it, depth first."""
    hints, meanings, defaults = get_type_hints(type(config)), comments(type(config)), plain(config)
    rows, inner = [], []
    for each in fields(config):
        key, hint, meaning = f"{place}.{each.name}".lstrip("."), hints[each.name], meanings.get(each.name, "")
        if is_dataclass(hint):
            inner.append((getattr(config, each.name), key))
            meaning = f"see [below](#{key.replace('.', '')})"
        value = "" if kind(hint) == "section" else shown(defaults[each.name])
        rows.append(f"| `{key}` | {kind(hint)} | {value} | {meaning} |")
    head = [f"## `{place}`" if place else "## The whole", "", inspect.getdoc(config) or "", ""]
    yield "\n".join([*head, "| key | type | default | meaning |", "|---|---|---|---|", *rows, ""])
    for part, key in inner:
        yield from sections(part, key)


def page() -> str:
    """The whole page."""
    return "\n".join([INTRO, *sections(Job())])


def data_page() -> str:
    """The page of data sets, with its table anew."""
    head = ["| name | rows | inputs | classes | download | licence | checked by | used by |", "|---" * 8 + "|"]
    return _renewed(DATA_PAGE, BEGIN, "\n".join([*head, *map(row, CARDS.values())]))


def speed_page() -> str:
    """The page of speed, with its table of measurements anew."""
    reports = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((RESULTS / "speed").glob("*.json"))]
    return _renewed(SPEED_PAGE, MEASURED, f"{document.table(reports)}\n")


def _renewed(page: Path, begin: str, text: str) -> str:
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    return f"{before}{begin}{text}\n{END}{rest.partition(END)[2]}"


def row(card: Card) -> str:
    """A data set in the table."""
    names = ", ".join(f"`{name}`" for name in card.names)
    inputs = " × ".join(map(str, card.shape))
    cells = (f"{card.train:,} + {card.test:,}", inputs, f"{card.classes:,}", card.size, card.licence, card.checked)
    return f"| {' | '.join([f'[{card.title}]({card.url}): {names}', *cells, '; '.join(card.used_by)])} |"


def measured_pages() -> dict[str, str]:
    """The pages of what is measured, by name."""
    found = committed(RESULTS)
    return {"results.md": results_page.page(found, RESULTS), "status.md": status_page.page(found, RESULTS)}


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    DATA_PAGE.write_text(data_page(), encoding="utf-8")
    SPEED_PAGE.write_text(speed_page(), encoding="utf-8")
    for name, text in measured_pages().items():
        PAGE.with_name(name).write_text(text, encoding="utf-8")
