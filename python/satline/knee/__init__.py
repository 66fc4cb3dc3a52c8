"""Where throughput bends with the number of users: a posterior from windows at several loads.

    from satline.knee import Window, fit
    found = fit(windows, most_users=200, seed=1)
    found.knee, found.chance_within, found.throughput(30)

It is own and not a sampler's: what is linear is integrated in closed form, so that a study that runs has its
next load at once.

The families of shapes are in `_curves`, the errors of the windows in `_noise`, drift and single bad windows
in `_evidence`.
"""

from satline.knee._fit import fit
from satline.knee._posterior import Draws, Posterior, quantiles
from satline.knee._window import Floats, Integers, Interval, Window

__all__ = ["Draws", "Floats", "Integers", "Interval", "Posterior", "Window", "fit", "quantiles"]
