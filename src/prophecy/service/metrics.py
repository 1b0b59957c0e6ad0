"""Counters of the service in the text format Prometheus reads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

EDGES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds: from an answer out of memory to a long forecast."""

_V1 = ("observe", "table", "series", "values", "forecast", "events", "alarms", "health", "live")
_ROUTES = {"/metrics", "/openapi.json", "/docs", "/", *(f"/v1/{name}" for name in _V1)}


def route(path: str) -> str:
    """The path without what a client can invent, so that labels stay few.

    >>> route("/v1/series/a/b"), route("/v1/table"), route("/etc/passwd")
    ('/v1/series/{key}', '/v1/table', 'other')
    """
    if path in _ROUTES:
        return path
    if path.startswith("/v1/series/"):
        return "/v1/series/{key}"
    return "/page" if re.fullmatch(r"/page/[a-z.\-]+", path) else "other"


class Metrics:
    """Counts since the start; written out by `text`."""

    def __init__(self) -> None:
        self.values: Counter[str] = Counter()
        self.events = 0
        self.missed = 0
        self.readers = 0
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._within: Counter[tuple[str, float]] = Counter()
        self._seconds: Counter[str] = Counter()

    def note(self, method: str, path: str, status: int, seconds: float) -> None:
        """One request was answered; a live connection counts when it ends, and not among the latencies."""
        where = route(path)
        self._requests[(method if method in _METHODS else "other", where, status)] += 1
        if method == "WS":
            return
        self._seconds[where] += seconds  # type: ignore[assignment]
        for edge in EDGES:
            if seconds <= edge:
                self._within[(where, edge)] += 1

    def text(self, gauges: Iterable[tuple[str, str, float]]) -> str:
        """The exposition, version 0.0.4. gauges: name, help, value of what is measured when asked."""
        lines = _head("prophecy_values_total", "counter", "Values by what became of them.")
        lines += [_line("prophecy_values_total", count, status=status) for status, count in sorted(self.values.items())]
        for name, text, count in (
            ("prophecy_events_total", "Events raised.", self.events),
            (
                "prophecy_live_missed_total",
                "Values that live readers missed and were named to them.",
                self.missed,
            ),
        ):
            lines += [*_head(name, "counter", text), _line(name, count)]
        for name, text, value in (("prophecy_live_readers", "Live readers connected.", self.readers), *gauges):
            lines += [*_head(name, "gauge", text), _line(name, value)]
        lines += _head("prophecy_requests_total", "counter", "Requests by method, path and status.")
        for (method, path, status), count in sorted(self._requests.items()):
            lines.append(_line("prophecy_requests_total", count, method=method, path=path, status=status))
        return "\n".join([*lines, *self._histogram()]) + "\n"

    def _histogram(self) -> list[str]:
        name = "prophecy_request_seconds"
        lines = _head(name, "histogram", "Time from a request's arrival to the end of its answer.")
        totals: Counter[str] = Counter()
        for (method, path, _), count in self._requests.items():
            totals[path] += 0 if method == "WS" else count
        for path, total in sorted(totals.items()):
            if not total:
                continue
            for edge in EDGES:
                lines.append(_line(f"{name}_bucket", self._within[(path, edge)], path=path, le=f"{edge:g}"))
            lines.append(_line(f"{name}_bucket", total, path=path, le="+Inf"))
            lines.append(_line(f"{name}_sum", self._seconds[path], path=path))
            lines.append(_line(f"{name}_count", total, path=path))
        return lines


_METHODS = frozenset({"GET", "POST", "DELETE", "HEAD", "WS"})


def _head(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


def _line(name: str, value: float, **labels: object) -> str:
    inside = ",".join(f'{label}="{_escaped(str(text))}"' for label, text in labels.items())
    return f"{name}{{{inside}}} {value:.17g}" if labels else f"{name} {value:.17g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
