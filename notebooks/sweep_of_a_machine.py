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
# # A sweep of a simulated machine
# How do throughput and response of a virtual-memory time-sharing system depend on users and storage? Every
# number has an interval over replications.

# %%
import satline


def told(progress):
    """One line now and then."""
    print(f"\r{progress.done} of {progress.runs} runs", end="", flush=True)


sweep = satline.simulate(
    "155-II-1mb",
    "cms",
    users="4..28/6",
    vary={"storage.pageable_frames": [150, 200, 250]},
    seconds=900,
    replications=3,
    progress=told,
)
print()
print(sweep)
sweep

# %% [markdown]
# ## Curves
# A line for each storage size; bars are 95 % intervals.

# %%
sweep.plot("throughput_per_s", "response_s", "paging_per_s")

# %% [markdown]
# ## Differences
# All points share their random numbers, so that differences are surer than the values themselves. The last
# column says what part of the variance that saved.

# %%
differences = sweep.differences("response_s")
print(differences)
differences

# %% [markdown]
# ## A number to a stated precision
# Replications are added until the response is known to within 10 %.

# %%
precise = satline.simulate("155-II-1mb", "cms", users=16, seconds=900, until="response_s:10%", most=40)
row = precise.wide("response_s").to_arrow().to_pylist()[0]
half = (row["response_s_high"] - row["response_s_low"]) / 2
print(
    f"response {row['response_s']:.2f} s ± {half:.2f}, {len(precise.result.points[0].results)} replications"
)
precise.wide("response_s")

# %% [markdown]
# ## The machine as if it had been recorded
# A simulated run writes the same recording as a host, and is diagnosed alike.

# %%
import tempfile
from pathlib import Path

place = Path(tempfile.mkdtemp()) / "steps.satline"
recording = satline.simulate_recording(
    "155-II-1mb", "cms", place, users="2..26/4", seconds=600, sample_seconds=5
)
verdict = recording.diagnose()
print(verdict.headline)
verdict.plot()

# %%
what_if = recording.predict(["processors=2", "storage=2x"])
print(what_if)
what_if.plot()
