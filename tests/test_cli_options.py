"""Options of the command line: one name means one thing, and help texts fit any terminal."""

from __future__ import annotations

import importlib
import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, get_args, get_type_hints

import pytest

typer = pytest.importorskip("typer")

from prophecy.cli import COMMANDS, epilog  # noqa: E402

OWN = {"--column"}
"""`stream` reads one column, the others several."""


def functions() -> dict[str, Callable[..., None]]:
    """The function behind every command."""
    return {name: getattr(importlib.import_module(f"prophecy.commands.{name}"), name) for name in COMMANDS}


def options(function: Callable[..., None]) -> Iterator[tuple[str, Any, str]]:
    """(name, type, help) of each option and argument of a command."""
    for name, hint in get_type_hints(function, include_extras=True).items():
        if name != "return":
            kind, described = get_args(hint)
            given = (described.default, *(described.param_decls or ()))  # in Annotated the first name is the default
            names = [one for one in given if isinstance(one, str) and one.startswith("--")]
            dashed = isinstance(described, typer.models.OptionInfo)
            yield names[0] if names else f"--{name.replace('_', '-')}" if dashed else name, kind, described.help


def test_an_option_that_two_commands_share_takes_the_same_kind_of_value() -> None:
    """`--step 0.02` was a time in one and `--step 3` a number of rows in another."""
    kinds: dict[str, dict[str, str]] = defaultdict(dict)
    for command, function in functions().items():
        for name, kind, _ in options(function):
            if name.startswith("--") and name not in OWN:
                kinds[name][command] = " ".join(str(one) for one in get_args(kind) or (kind,) if one is not type(None))
    several = {name: by for name, by in kinds.items() if len(by) > 1}
    assert {"--key", "--time", "--level", "--out", "--horizon"} <= {*several}
    assert {name: by for name, by in several.items() if len({*by.values()}) > 1} == {}


def test_every_option_says_what_it_does() -> None:
    texts = {f"{command} {name}": text for command, by in functions().items() for name, _, text in options(by)}
    assert len(texts) > 100
    assert [name for name, text in texts.items() if not (text and text.endswith("."))] == []


def test_paragraphs_below_the_options_flow_and_examples_keep_their_lines() -> None:
    made = epilog("\nExamples:\n  prophecy a\n  prophecy b\n\nOne line,\nand another.\n\nThe end.\n")
    assert made == "\b\nExamples:\n  prophecy a\n  prophecy b\n\nOne line, and another.\n\nThe end."
    for name, function in functions().items():
        for paragraph in epilog((inspect.getdoc(function) or "").partition("\n\n")[2]).split("\n\n"):
            assert "\n" not in paragraph or paragraph.startswith("\b\nExamples:\n"), (name, paragraph)
