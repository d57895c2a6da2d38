"""Traces: every decision of an answer with the numbers it was made from, so that anyone can make it again.

``docs/trace.md`` describes the format. Knows nothing of how drafts are made or how rules decide.
"""

from __future__ import annotations

from headstart.trace.check import Report, check, check_trace
from headstart.trace.read import Trace, read
from headstart.trace.record import VERSION, Recorder

__all__ = ["VERSION", "Recorder", "Report", "Trace", "check", "check_trace", "read"]
