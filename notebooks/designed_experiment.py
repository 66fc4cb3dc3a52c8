# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     name: python3
#     display_name: Python 3
#     language: python
# ---

# %% [markdown]
# # A designed experiment
# Which matters more for the response: storage, a second drum, or prefetching of a user's pages? Two levels
# of each, every combination, each of them replicated: 2 × 2 × 2 × 3 runs, analysed together. A study file
# says what is varied.

# %%
import tempfile
from pathlib import Path

import satline

STUDY = """
title = "Storage, drums and prefetching"
machine = "155-II-1mb"
workload = "cms"

[load]
users = [22]
seconds = 1200
warmup_seconds = 300
replications = 3

[[factor]]
name = "storage"
setting = "storage.pageable_frames"
levels = [160, 240]

[[factor]]
name = "drums"
setting = "device.1.count"
levels = [1, 2]

[[factor]]
name = "prefetch"
on.paging.record_and_prefetch.most_pages = "all"

[design]
seed = 77
transform = "log"
measures = ["response_s"]
"""
place = Path(tempfile.mkdtemp())
file = place / "storage-and-drums.toml"
file.write_text(STUDY)
experiment = satline.study(file, out=place / "runs")
print(experiment)

# %% [markdown]
# ## The runs

# %%
runs = experiment.runs()
print(runs)
runs

# %% [markdown]
# ## The analysis of variance
# Replicates are blocks, since the cells of one share their random numbers.

# %%
experiment

# %% [markdown]
# ## Effects
# Differences of the logarithm of the response between levels, with intervals that hold for all of them
# together: `exp` of one is the factor by which the response changes.

# %%
import math

for row in experiment.effects().to_arrow().to_pylist():
    if row["class"] == "all" and row["to_level"] is not None and row["effect"] is not None:
        ends = ", ".join(
            f"× {math.exp(row[end]):.2f}" for end in ("effect_low", "effect_high") if row[end] is not None
        )
        change = f"{row['source']} {row['from_level']} → {row['to_level']}"
        print(f"{change}: response × {math.exp(row['effect']):.2f} [{ends}]")
experiment.effects()

# %%
experiment.plot("response_s")
