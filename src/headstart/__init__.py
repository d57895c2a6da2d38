"""Headstart: the same text, sooner."""
