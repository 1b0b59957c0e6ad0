"""The live service: an API and a page for many series (docs/service.md). Needs the extra `service`."""

from prophecy.service.app import create_app
from prophecy.service.settings import DEFAULT, Settings

__all__ = ["DEFAULT", "Settings", "create_app"]
