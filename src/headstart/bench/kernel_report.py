"""What ``headstart bench kernel`` prints: tables, one JSON object, and a picture of the curve."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from headstart.bench.kernel import Cell, Report, machine
from headstart.pictures import save_picture

__all__ = ["as_object", "draw", "ratios", "tables"]


def as_object(report: Report) -> dict[str, Any]:
    """Everything measured: ``curve`` maps rows to milliseconds at the first context."""
    options = report.options
    first = options.contexts[0]
    return {
        "bandwidth_gb_s": round(report.bandwidth_gb_s(), 2),
        "bandwidth_quartiles": {s: report.bandwidth_quartiles(s) for s in report.bandwidths},
        "curve": report.curve("headstart", first),
        "curve_quartiles": report.spread("headstart", first),
        "contexts": {str(c): report.curve("headstart", c) for c in options.contexts},
        "prefill": {s: _prefill(report, s) for s in _subjects(report)},
        "peer": {
            s: {str(c): report.curve(s, c) for c in options.contexts}
            for s in _subjects(report)
            if s.startswith("llama.cpp")
        },
        "synthetic": {s: report.curve(s, first) for s in report.weight_bytes if s != "headstart"},
        "ceiling_share": {s: _share(report, s) for s in report.weight_bytes},
        "ratios": ratios(report),
        "rounds": options.rounds,
        "about_peer": report.about_peer,
        "machine": machine(),
    }


def ratios(report: Report) -> dict[str, float]:
    """Flatness, growth with context, and times over the peer's."""
    found: dict[str, float] = {}
    first, *longer = report.options.contexts
    for rows in (4, 8, 16):
        _add(found, f"t({rows})/t(1)", report, Cell("headstart", first, rows), Cell("headstart", first, 1))
    for rows in (1, 4):
        for context in longer:
            if Cell("headstart", context, rows) in report.seconds and Cell("headstart", first, rows) in report.seconds:
                added = report.ms("headstart", context, rows) - report.ms("headstart", first, rows)
                ceiling = (context - first) * report.cache_bytes_per_token / report.bandwidth_gb_s() / 1e6
                found[f"added from {first} to {context}, {rows} rows / cache bytes at bandwidth"] = added / ceiling
    for subject in _subjects(report):
        if subject == "headstart":
            continue
        for context in report.options.contexts:
            for rows in (1, 4, 8):
                name = f"t({rows}) at {context} / {subject}"
                _add(found, name, report, Cell("headstart", context, rows), Cell(subject, context, rows))
        prefill = report.options.prefill
        _add(found, f"prefill / {subject}", report, Cell("headstart", prefill, 0), Cell(subject, prefill, 0))
    return {name: round(value, 3) for name, value in found.items()}


def _add(found: dict[str, float], name: str, report: Report, cell: Cell, base: Cell) -> None:
    if cell in report.seconds and base in report.seconds:
        found[name] = median(report.seconds[cell]) / median(report.seconds[base])


def tables(report: Report) -> Iterator[str]:
    """Lines for people."""
    options = report.options
    for context in options.contexts:
        yield f"\nmilliseconds a pass after {context} tokens, median [quartiles]"
        yield _line("rows", options.rows)
        for subject in _subjects(report):
            curve = report.curve(subject, context)
            if curve:
                yield _line(subject, [f"{ms:.2f}" for ms in curve.values()])
                yield _line("", ["{:.2f}-{:.2f}".format(*q) for q in report.spread(subject, context).values()])
    yield f"\nprefill of {options.prefill} tokens, tokens a second"
    for subject in _subjects(report):
        yield f"  {subject:32} {_prefill(report, subject)['tokens_per_s']:8.0f}"
    rate = "{:.1f} GB/s meanwhile, quartiles {:.1f}-{:.1f}".format(
        report.bandwidth_gb_s(), *report.bandwidth_quartiles("headstart")
    )
    yield f"\nshare of the bandwidth ({rate}) that one row reads at, after {options.contexts[0]} tokens"
    for subject in report.weight_bytes:
        costs = " ".join(f"{rows}: {ms:.2f}" for rows, ms in report.curve(subject, options.contexts[0]).items())
        yield f"  {subject:36} {_share(report, subject):5.0%}   {costs if subject != 'headstart' else ''}"
    yield "\nratios"
    for name, value in ratios(report).items():
        yield f"  {name:64} {value:6.2f}"


def draw(report: Report, path: Path) -> None:
    """The curve of every context and subject, as a picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    markers = dict(zip(report.options.contexts, "osv^DP", strict=False))
    for subject in _subjects(report):
        for context in report.options.contexts:
            curve = report.curve(subject, context)
            style = "-" if subject == "headstart" else "--"
            label = f"{subject}, {context} tokens"
            axes.plot([int(r) for r in curve], list(curve.values()), style, marker=markers[context], label=label)
    axes.set(xlabel="rows of a pass", ylabel="milliseconds", yscale="log", title="What a pass costs")
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend(fontsize="small")
    save_picture(figure, path)


def _subjects(report: Report) -> list[str]:
    """The model's own subjects: ours and the peers."""
    names = dict.fromkeys(cell.subject for cell in report.seconds)
    return [name for name in names if name == "headstart" or name.startswith("llama.cpp")]


def _prefill(report: Report, subject: str) -> dict[str, float]:
    tokens = report.options.prefill
    seconds = median(report.seconds[Cell(subject, tokens, 0)])
    return {"tokens": tokens, "seconds": round(seconds, 4), "tokens_per_s": round(tokens / seconds, 1)}


def _share(report: Report, subject: str) -> float:
    """Bytes that one row must read, over what memory delivers in the time it takes."""
    context = report.options.contexts[0]
    cell = Cell(subject, context, 1)
    if cell not in report.seconds:
        return 0.0
    read = report.weight_bytes[subject] + (context * report.cache_bytes_per_token if subject == "headstart" else 0)
    return round(read / median(report.seconds[cell]) / 1e9 / report.bandwidth_gb_s(subject), 3)


def _line(name: str, cells: object) -> str:
    return f"  {name:18}" + "".join(f"{cell!s:>13}" for cell in (cells if isinstance(cells, list | tuple) else [cells]))
