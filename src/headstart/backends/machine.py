"""What this process may use of its machine: cores and memory, as affinity and control groups leave them."""

from __future__ import annotations

import math
import os
from pathlib import Path

from headstart.errors import InputError

__all__ = ["available_memory_bytes", "check_threads", "default_threads", "most_threads"]

GROUP = Path("/sys/fs/cgroup")


def default_threads() -> int:
    """Cores that this process may run on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, _, period = _read(GROUP / "cpu.max").partition(" ")
    if quota.isdigit() and period.strip().isdigit():
        cores = min(cores, math.ceil(int(quota) / int(period)))
    return max(cores, 1)


def most_threads() -> int:
    """Threads beyond the machine's cores only wait for each other; two are always allowed."""
    return max(os.cpu_count() or 1, 2)


def check_threads(threads: int | None) -> int:
    """The number of threads to use: one a core by default, and never more than the machine allows."""
    most = most_threads()
    if threads is not None and not 1 <= threads <= most:
        raise InputError(f"threads is {threads}; this machine allows 1 to {most}")
    return min(default_threads(), most) if threads is None else threads


def available_memory_bytes() -> int | None:
    """Memory that can still be had without swapping, or None where the system does not say."""
    free = [
        int(line.split()[1]) * 1024
        for line in _read(Path("/proc/meminfo")).splitlines()
        if line.startswith("MemAvailable:")
    ]
    limit, used = _read(GROUP / "memory.max").strip(), _read(GROUP / "memory.current").strip()
    if limit.isdigit() and used.isdigit():
        free.append(int(limit) - int(used))
    return min(free, default=None)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
