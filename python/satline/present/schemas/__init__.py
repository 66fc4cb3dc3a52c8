"""JSON schemas of every kind of document, made from the results' own types.

`KINDS` lists them; `schema` makes one. The modules beside this one have the types of the documents that a
command puts together, with a line on each key that its name does not explain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from satline.lazy import lazy_names
from satline.present.schemas._kinds import KINDS, Kind

if TYPE_CHECKING:
    from satline.present.schemas._make import schema

__all__ = ["KINDS", "Kind", "schema"]

# The list needs no types.
__getattr__ = lazy_names(__name__, {"_make": "schema"})
