"""The load now: the last seconds of a recording, also one that is being written, or of this host."""

from satline.live._host import sampled
from satline.live._load import LINE, LONG, LoadNow, Value, load_now
from satline.live._states import PARTS, UserState, UserStates, user_states
from satline.live._window import Window

__all__ = [
    "LINE",
    "LONG",
    "PARTS",
    "LoadNow",
    "UserState",
    "UserStates",
    "Value",
    "Window",
    "load_now",
    "sampled",
    "user_states",
]
