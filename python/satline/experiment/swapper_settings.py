"""What a study file says of a swapper: the table `[swapper]`."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator


class StudySwapper(BaseModel):
    """`satline swapper` on the host of the load, with a policy whose users are the emulated ones.

    policy
        Tables of a policy file. The study states no `watch`; `storage.cgroup` is the load's, if it has one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = True
    policy: dict[str, dict[str, Any]] = {}

    @model_validator(mode="after")
    def _watches_the_load(self) -> StudySwapper:
        if "watch" in self.policy:
            raise ValueError("swapper.policy: a study's swapper watches the emulated users; leave watch out")
        return self
