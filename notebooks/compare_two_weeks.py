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
# # Two weeks compared
# Half a megabyte of storage was added over a weekend. Did it help? Plain means mislead where two weeks do not
# have the same load, so that they are held against each other at equal load.

# %%
import tempfile
from pathlib import Path

import satline

# Two recordings of your own: satline.open("week44.satline"), satline.open("week45.satline")
place = Path(tempfile.mkdtemp())
WEEK = {"schedule": True, "seconds": 5 * 86400, "sample_seconds": 600}
before = satline.simulate_recording("155-II-1mb", "case-study-week", place / "before.satline", seed=1, **WEEK)
after = satline.simulate_recording("155-II-1.5mb", "case-study-week", place / "after.satline", seed=2, **WEEK)
print(before)
before.users

# %% [markdown]
# ## At equal load

# %%
change = before.compare(after)
print(change)
change

# %%
change.plot()

# %% [markdown]
# Plain means, whatever the load, beside the difference at equal load:

# %%
overall = change.overall()
print(overall)
overall

# %% [markdown]
# ## At equal throughput
# The trade-off curve: what response is paid for how much work.

# %%
curve = change.trade_off()
print(curve)
curve

# %% [markdown]
# ## Another measure, and only the working hours

# %%
working = satline.compare(before, after, measure="page_wait", filters=satline.Filters(hours=(9, 17)))
print(working.headline)
working.plot()

# %% [markdown]
# What each week is held back by:

# %%
for name, week in (("before", before), ("after", after)):
    print(f"{name}: {week.diagnose().headline}")
