"""Counters of the service in the text format Prometheus reads."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

EDGES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds: from an answer out of memory to a long forecast."""

_METHODS = frozenset({"GET", "POST", "DELETE", "HEAD", "WS"})
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
        self.missed = self.readers = 0
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[str, list[float]] = {}  # of a path: requests within each of EDGES, all of them, their sum

    def note(self, method: str, path: str, status: int, seconds: float) -> None:
        """One request was answered; a live connection counts when it ends, and not among the latencies."""
        where = route(path)
        self._requests[method if method in _METHODS else "other", where, status] += 1
        if method != "WS":
            found = self._seconds.setdefault(where, [0.0] * (len(EDGES) + 2))
            for place, edge in enumerate((*EDGES, float("inf"))):
                found[place] += seconds <= edge
            found[-1] += seconds

    def text(self, others: Iterable[tuple[str, str, str, float]]) -> str:
        """The exposition, version 0.0.4. others: name, type, help and value of what is counted elsewhere."""
        values = [(f'{{status="{status}"}}', count) for status, count in sorted(self.values.items())]
        requests = [
            (f'{{method="{method}",path="{path}",status="{status}"}}', count)
            for (method, path, status), count in sorted(self._requests.items())
        ]
        seconds = "Time from a request's arrival to the end of its answer."
        families: list[tuple[str, str, str, Iterable[tuple[str, float]]]] = [
            ("values_total", "counter", "Values by what became of them.", values),
            ("live_missed_total", "counter", "Values that live readers were told they missed.", [("", self.missed)]),
            ("live_readers", "gauge", "Live readers connected.", [("", self.readers)]),
            *((name, kind, text, [("", value)]) for name, kind, text, value in others),
            ("requests_total", "counter", "Requests by method, path and status.", requests),
            ("request_seconds", "histogram", seconds, self._latencies()),
        ]
        lines = []
        for name, kind, text, samples in families:
            lines += [f"# HELP prophecy_{name} {text}", f"# TYPE prophecy_{name} {kind}"]
            lines += [f"prophecy_{name}{labels} {value:.17g}" for labels, value in samples]
        return "\n".join(lines) + "\n"

    def _latencies(self) -> Iterator[tuple[str, float]]:
        for path, (*within, total, seconds) in sorted(self._seconds.items()):
            for edge, count in zip((*map("{:g}".format, EDGES), "+Inf"), (*within, total), strict=True):
                yield f'_bucket{{path="{path}",le="{edge}"}}', count
            yield f'_sum{{path="{path}"}}', seconds
            yield f'_count{{path="{path}"}}', total
