"""Correlation: what moves with a performance quality measure [Bitner], guarded against mere chance."""

from satline.correlation._chance import tails
from satline.correlation._correlate import Correlation, Hit, correlate
from satline.correlation._given import GIVEN
from satline.correlation._kernel import centred
from satline.correlation._layers import Layers, layers, thin
from satline.correlation._panel import Name, Panel
from satline.correlation._read import read_panel
from satline.correlation._shifts import Shift, self_normalised
from satline.correlation._walk import add_step, beside, following, read_walk, story

__all__ = [
    "GIVEN",
    "Correlation",
    "Hit",
    "Layers",
    "Name",
    "Panel",
    "Shift",
    "add_step",
    "beside",
    "centred",
    "correlate",
    "following",
    "layers",
    "read_panel",
    "read_walk",
    "self_normalised",
    "story",
    "tails",
    "thin",
]
