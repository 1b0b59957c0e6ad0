"""What is unusual in a series: flagged rows grouped to events, each with its beginning, end, kind and a sentence."""

from prophecy.anomalies.events import Anomaly, Events, find_events, flagged
from prophecy.anomalies.kinds import Kind

__all__ = ["Anomaly", "Events", "Kind", "find_events", "flagged"]
