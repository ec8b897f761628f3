"""One thread per test process: several that share the cores would wait for each other."""

import os
import shutil

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
# A virtual machine may list matrix instructions that it does not let run; oneDNN then fails in bfloat16.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

TINY = """
title: A paper that can be reproduced in seconds
protocol: {seeds: 2, reported: last, chosen: by hand, significance: none stated}
methods:
  CE: {name: ce}
  GCE: {name: gce}
  LS: {name: label_smoothing, settings: {alpha: 0.2}}
recipes:
  - for: [digits]
    net: {name: mlp, settings: {widths: "16"}}
    train: {epochs: 2, batch: 256}
fast:
  - for: [digits]
    train: {epochs: 1}
    settings: {GCE: {q: 0.6}}
grids:
  - methods: [GCE]
    settings: {q: [0.4, 0.6, 0.8]}
deviations:
  - The paper is made up.
"""
CHOSEN = "data,noise,method,settings\ndigits,none,GCE,q=0.4\ndigits,symmetric:0.4,GCE,q=0.8\n"
TABLE1 = """data,noise,method,mean,std,best
digits,none,CE,90.0,1.0,1
digits,symmetric:0.4,CE,70.0,2.0,0
digits,none,GCE,89.0,1.0,1
digits,symmetric:0.4,GCE,80.0,2.0,1
"""
TABLE2 = """data,noise,method,mean,std,best,measure,net
digits,symmetric:0.4,LS,60.0,,0,train/accuracy_true,mlp
digits,symmetric:0.4,LS,10.0,,0,train/wrong_accuracy_given,mlp
"""


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A paper of two tables that can be reproduced in seconds."""
    from labelnoise.papers import paper

    folder = tmp_path / "papers" / "tiny"
    folder.mkdir(parents=True)
    files = {"paper.yaml": TINY, "chosen.csv": CHOSEN, "table1.csv": TABLE1, "table2.csv": TABLE2}
    for name, text in files.items():
        (folder / name).write_text(text)
    monkeypatch.setitem(paper.__globals__, "HERE", tmp_path / "papers")
    return paper("tiny")


SKETCH = """
title: A paper of figures
protocol: {seeds: 2, reported: selected, chosen: by hand, significance: none stated}
methods:
  CE: {name: ce}
  LS 0.0: {name: ce}
  LS 0.2: {name: label_smoothing, settings: {alpha: 0.2}}
  TV: {name: f_divergence, settings: {divergence: total_variation}}
  LN: {name: logistic_normal}
  LN, identity: {name: logistic_normal, settings: {covariance: identity}}
recipes:
  - for: [digits]
    net: {name: mlp, settings: {widths: "16"}}
    train: {epochs: 3, batch: 256}
  - for: [moons]
    net: {name: mlp, settings: {widths: "16"}}
    train: {epochs: 2, batch: 256}
  - for: [gaussians]
    net: {name: mlp, settings: {widths: none}}
    train: {epochs: 60, batch: 2000, optimiser: {lr: 0.2}}
fast:
  - for: [digits, moons, gaussians]
    train: {epochs: 1}
grids: []
figures:
  - name: fig1
    kind: by noise
    shows: Accuracy by noise.
    trained:
      - data: [digits]
        noises: ["symmetric:0.4", none]
        methods: [TV]
        measures: [test/accuracy_true, test/divergence]
  - name: fig2
    kind: by setting
    shows: Accuracy by alpha.
    across: alpha
    trained:
      - {data: [digits], noises: ["symmetric:0.4"], methods: [LS 0.2, LS 0.0], measures: [test/accuracy_true]}
  - name: fig3
    kind: by epoch
    shows: Accuracy by epoch.
    trained:
      - data: [digits]
        noises: [none, "symmetric:0.4"]
        methods: [CE, LS 0.2]
        measures: [validation/accuracy_true, train/accuracy_given]
  - name: fig4
    kind: margins
    shows: Margins.
    seeds: 1
    trained:
      - data: [digits]
        noises: ["symmetric:0.4"]
        methods: [CE, LS 0.2]
        measures: [margin/wrong/true, margin/all/predicted]
  - name: fig5
    kind: projection
    shows: Features.
    seeds: 1
    trained:
      - {data: [digits], noises: ["symmetric:0.4"], methods: [CE, LS 0.2], measures: [projection]}
  - name: fig6
    kind: residuals
    shows: Residuals.
    seeds: 1
    trained:
      - {data: [digits], noises: ["symmetric:0.4"], methods: ["LN, identity"], measures: [residual]}
      - {data: [digits], noises: ["symmetric:0.4"], methods: [LN], measures: [residual, weighted]}
  - name: fig7
    kind: regions
    shows: Regions.
    seeds: 1
    trained:
      - {data: [moons], noises: ["symmetric:0.2"], methods: [CE, LN], measures: [regions]}
  - name: fig8
    kind: lines
    shows: Lines.
    values: [0.01]
    seeds: 1
    trained:
      - {data: [gaussians], noises: ["asymmetric:0.05:exact"], methods: [CE, LS 0.2], measures: [line]}
  - name: fig9
    kind: losses
    shows: Losses.
    values: [0.2]
deviations:
  - The figures are made up.
"""
SKETCHED = "data,noise,method,mean,std,best\ndigits,symmetric:0.4,CE,71.5,1.0,1\n"


@pytest.fixture
def sketch(tmp_path, monkeypatch):
    """A paper with a figure of every kind that is trained, each in seconds."""
    from labelnoise.papers import paper

    folder = tmp_path / "papers" / "sketch"
    folder.mkdir(parents=True)
    (folder / "paper.yaml").write_text(SKETCH)
    (folder / "table1.csv").write_text(SKETCHED)
    monkeypatch.setitem(paper.__globals__, "HERE", tmp_path / "papers")
    return paper("sketch")


@pytest.fixture(scope="session")
def browser():
    """A Chromium, for pages that are looked at; skipped where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, (shutil.which(name) for name in found if name)), None)
    if path is None:
        pytest.skip("no Chromium on PATH")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()
