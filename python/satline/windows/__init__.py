"""The windows of a study, as they stand in its recording: what was seen at one number of users for a time.

    from satline.windows import measured
    windows = measured(recording).windows            # for satline.knee.fit, or a search

One window: `one`, corrected for what its users drew by `variates`, with what the workload file states from
`stated`. All of a recording, one that is being written too: `measured`.
"""

from satline.windows.measured import Measured, measured

__all__ = ["Measured", "measured"]
