"""JSON schemas of every kind of document, made from the results' own types.

`KINDS` lists them; `schema` makes one. The modules beside this one have the types of the documents that a
command puts together, with a line on each key that its name does not explain.
"""

from satline.present.schemas._kinds import KINDS, Kind
from satline.present.schemas._make import schema, schemas

__all__ = ["KINDS", "Kind", "schema", "schemas"]
