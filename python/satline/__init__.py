"""Satline: how many users a shared machine carries, what holds it back, and what to do about it."""

__version__ = "0.1.0"
