"""Benchmarks: the ceiling first, then the measured share of it. The last line of each is JSON."""
