"""Workloads from real sessions: recorded, taken apart, fitted, and generated again at any size [AW79].

A session (what one person typed and got, with times) becomes a script with its own think times; many sessions
become building blocks (a mix, distributions, an order), and blocks become a workload for the emulator.
"""
