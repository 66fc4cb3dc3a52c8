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
# # From an archive to a verdict
# What `sar` recorded for three days is imported, looked through, reduced to curves against load, and
# diagnosed. The archive is of a made host of which the truth is known: it saturates its processors at 34
# users.

# %%
import tempfile
from pathlib import Path

import made_archive

import satline

# One of your own: archive = Path("/var/log/sysstat")
archive = made_archive.write(Path(tempfile.mkdtemp()) / "lab.sar.txt")
print(archive.read_text()[:600])

# %% [markdown]
# ## Open it
# Anything that `satline import` reads is imported into a temporary recording; `into=` keeps it.

# %%
recording = satline.open(archive, timezone="UTC")
print(recording)
recording

# %% [markdown]
# What is in it, and which questions it suffices for:

# %%
info = recording.info()
print(info)
info

# %% [markdown]
# ## Curves against load
# `sar` knows no users: load is the run queue here. Each class of load has its mean with an error that
# accounts for autocorrelation.

# %%
curves = recording.reduce()
print(curves)
curves.plot("total_cpu", "problem_state")

# %%
trends = curves.trends()
print(trends)
trends

# %% [markdown]
# ## The verdict
# In the made archive the asymptotes of throughput cross at 34 users, when 6.8 tasks are at the processors. A
# curve bends a little earlier than its asymptotes cross.

# %%
verdict = recording.diagnose(curves)
print(verdict)
verdict.plot()

# %% [markdown]
# What it rests on, and how full everything was:

# %%
resources = verdict.resources()
print(resources)
verdict.evidence()

# %% [markdown]
# Everything is a table: `to_pandas()`, `to_polars()`, `to_arrow()`, or any library that reads Arrow.

# %%
rows = curves.to_arrow()
heaviest = max(r["load"] for r in rows.to_pylist())
print(f"{rows.num_rows} rows; the heaviest class of load has its middle at {heaviest:.1f}")
rows.slice(0, 5)
