"""Scalability: tables of load, throughput and response, as load tests print them."""

from satline.scalability._analyse import analyse
from satline.scalability._read import Table, is_table, read_table
from satline.scalability._results import (
    Amdahl,
    Bounds,
    BrokenLine,
    Compared,
    Little,
    Row,
    Scalability,
    Usl,
    Value,
)

__all__ = [
    "Amdahl",
    "Bounds",
    "BrokenLine",
    "Compared",
    "Little",
    "Row",
    "Scalability",
    "Table",
    "Usl",
    "Value",
    "analyse",
    "is_table",
    "read_table",
]
