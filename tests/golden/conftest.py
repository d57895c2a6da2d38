"""Keeps the scripts that make goldens out of test collection: they need torch and transformers."""

collect_ignore_glob = ["make_*.py"]
