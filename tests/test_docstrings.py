"""What the public names say about themselves: everybody has a docstring, and arrays have a shape in it."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import pytest

import prophecy

MODULES = (
    "prophecy",
    *(f"prophecy.{name}" for name in (
        "adapters.river", "adapters.sklearn", "adapters.sktime", "bases", "bounds", "chaos",
        "constructions", "conventions", "diagonal", "discretize", "engines", "evaluation", "exact_readout",
        "fading", "fleet", "forecasting", "laws", "nn", "predictor", "signals", "streams", "system", "tables",
    )),
)  # fmt: skip
ARRAY = re.compile(r"ArrayLike|NDArray|\bArray\b|Tensor")
SHAPE = re.compile(r"\([\w …*+.]*,[\w …*+.,]*\)|a number|one moment|shape")


def public(name: str) -> Iterator[tuple[str, FunctionType, str]]:
    """Functions and methods users may call: name, function, and what its class and itself say."""
    module = importlib.import_module(name)
    own = getattr(module, "__all__", None) or [
        key
        for key, thing in vars(module).items()
        if not key.startswith("_") and getattr(thing, "__module__", "") == name
    ]
    for key in own:
        thing = getattr(module, key)
        if not str(getattr(thing, "__module__", "")).startswith("prophecy"):
            continue
        if isinstance(thing, FunctionType):
            yield f"{name}.{key}", thing, inspect.getdoc(thing) or ""
        elif inspect.isclass(thing):
            for method, function in vars(thing).items():
                plain: Any = getattr(function, "__func__", None) or getattr(function, "fget", None) or function
                if isinstance(plain, FunctionType) and not method.startswith("_"):
                    words = (inspect.getdoc(thing) or "") + (inspect.getdoc(plain) or "")
                    yield f"{name}.{key}.{method}", plain, words


@pytest.mark.parametrize("name", MODULES)
def test_arrays_that_go_in_or_come_out_have_a_shape_in_the_docstring(name: str) -> None:
    pytest.importorskip(name.split(".")[-1] if "adapters" in name else "torch" if name.endswith("nn") else "numpy")
    silent = [
        key
        for key, function, words in public(name)
        if any(ARRAY.search(str(kind)) for kind in function.__annotations__.values()) and not SHAPE.search(words)
    ]
    assert silent == []


@pytest.mark.parametrize("name", ["prophecy", "prophecy.forecasting"])
def test_forecast_names_every_argument_but_the_plain_ones(name: str) -> None:
    function = importlib.import_module(name).forecast
    keywords = [key for key, one in inspect.signature(function).parameters.items() if one.kind is one.KEYWORD_ONLY]
    assert "settings" in keywords
    assert [key for key in keywords if f"\n{key}: " not in (inspect.getdoc(function) or "")] == []
    assert "settings" in (inspect.getdoc(prophecy.forecast_many) or "")


def test_the_layers_docstring_names_all_that_a_subclass_must_give() -> None:
    pytest.importorskip("torch")
    layer = importlib.import_module("prophecy.nn.base").Layer
    given = [name for name, thing in vars(layer).items() if "raise NotImplementedError" in source_of(thing)]
    assert len(given) == 5
    assert [name for name in given if f"`{name}`" not in (inspect.getdoc(layer) or "")] == []


def source_of(thing: object) -> str:
    return inspect.getsource(thing) if isinstance(thing, FunctionType) else ""


@pytest.mark.parametrize("name", MODULES)
def test_every_public_function_says_what_it_does(name: str) -> None:
    pytest.importorskip(name.split(".")[-1] if "adapters" in name else "torch" if name.endswith("nn") else "numpy")
    assert [key for key, _, words in public(name) if len(words) < 20] == []
