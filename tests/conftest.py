"""One thread per test process: several that share the cores would wait for each other."""

import os

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
