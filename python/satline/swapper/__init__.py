"""`satline swapper`: the faces of the daemon satline-swapper. docs/concepts/swapper.md says how it works."""

from satline.swapper.explain import explain_policy, explain_user
from satline.swapper.policy import Policy, read_policy
from satline.swapper.replay import Replayed, observations, replay
from satline.swapper.status import Status, UserStatus, announce, default_status, read_status
from satline.swapper.unit import make_unit

__all__ = [
    "Policy",
    "Replayed",
    "Status",
    "UserStatus",
    "announce",
    "default_status",
    "explain_policy",
    "explain_user",
    "make_unit",
    "observations",
    "read_policy",
    "read_status",
    "replay",
]
