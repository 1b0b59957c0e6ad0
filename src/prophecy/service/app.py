"""The application: routes of the API, the page and its parts."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, FastAPI, Query, Request, WebSocket
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

import prophecy
from prophecy.service import files, models
from prophecy.service.bodies import Batch, BodyNames, check_key, from_json, from_lines
from prophecy.service.core import Core
from prophecy.service.errors import Problem, bad
from prophecy.service.guard import GuardMiddleware, address, bearer, headers_of
from prophecy.service.readers import follow
from prophecy.service.settings import DEFAULT, Settings
from prophecy.service.shapes import dumped, rows_of
from prophecy.service.tables import from_csv, preview

if TYPE_CHECKING:
    from prophecy.fleet import Fleet

LOG = logging.getLogger("prophecy.service")
JSON_LINES = ("application/x-ndjson", "application/jsonl", "application/x-jsonlines", "application/json-lines")
READERS: dict[str, Callable[[bytes, BodyNames, Settings], Batch]] = {
    "application/json": from_json,
    "text/csv": from_csv,
    **dict.fromkeys(JSON_LINES, from_lines),
}

Background = Callable[[Core], Coroutine[Any, Any, None]]

Key = Annotated[str, Query(description="The series.", min_length=1, max_length=DEFAULT.key_length)]
Keys = Annotated[list[str] | None, Query(description="Series to send; repeatable; all if not given.")]


def _asked(
    name: Annotated[str | None, Query(description="Series of rows without a key.")] = None,
    key: Annotated[str, Query(description="Field or column of the key.")] = "key",
    time: Annotated[str, Query(description="Field or column of the time.")] = "time",
    value: Annotated[str, Query(description="Field or column of the value.")] = "value",
    time_format: Annotated[str | None, Query(description="CSV: how dates are written, %d.%m.%Y.")] = None,
    decimal: Annotated[str | None, Query(description="CSV: the decimal mark.", pattern="^[.,]$")] = None,
    header: Annotated[bool | None, Query(description="CSV: whether the first line has names.")] = None,
    missing: Annotated[
        list[str] | None, Query(description="CSV: a cell that means no value; repeatable.", max_length=20)
    ] = None,
    skip: Annotated[int | None, Query(description="CSV: lines at the top to pass over.", ge=0, le=1000)] = None,
    sep: Annotated[str | None, Query(description="CSV: what stands between cells.", pattern="^[,;|\t ]$")] = None,
) -> BodyNames:
    return BodyNames(name, key, time, value, time_format, decimal, header, tuple(missing or ()), skip, sep)


Asked = Annotated[BodyNames, Depends(_asked)]


def create_app(
    fleet: "Fleet",
    *,
    settings: Settings = DEFAULT,
    token: str | None = None,
    hosts: tuple[str, ...] = (),
    background: Background | None = None,
) -> GuardMiddleware:
    """An ASGI application that serves a fleet and closes it when it ends.

    token: what clients must send; None where only this machine can reach the service. hosts: names it answers to
    besides those of loopback. background: a coroutine that runs beside it, such as the demonstration.
    """
    core = Core(fleet, settings, token, hosts)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await core.open()
        tasks = [asyncio.create_task(background(core))] if background is not None else []
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await core.close()

    app = FastAPI(
        title="prophecy",
        version=prophecy.__version__,
        summary="Predictions, intervals, alarms and forecasts of live series, with no training.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        responses={
            code: {"model": models.Error, "description": text}
            for code, text in (
                (400, "The request cannot be used."),
                (401, "A token is needed."),
                (429, "Too many from this address."),
            )
        },
    )
    _errors(app)
    _values(app, core)
    _series(app, core)
    _live(app, core)
    _pages(app, core)
    return GuardMiddleware(app, core.guard, core.metrics.note, core.strangers)


def _json(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(dumped(content), status, headers, "application/json")


def _errors(app: FastAPI) -> None:
    """All errors have one shape; what is not expected is logged here, and the client gets no details."""

    @app.exception_handler(Problem)
    async def refused(_: Request, error: Problem) -> Response:
        return _json(error.answer(), error.status, error.headers())

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        field = str(first["loc"][-1])
        found = bad(f"{field}: {first['msg']}", "GET /docs describes every parameter", field=field)
        return _json(found.answer(), found.status)

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> Response:
        found = Problem(error.status_code, str(error.detail).lower(), "GET /docs lists what there is")
        return _json(found.answer(), found.status, dict(error.headers or {}))

    @app.exception_handler(Exception)
    async def unexpected(_: Request, error: Exception) -> Response:
        LOG.error("unexpected error", exc_info=error)
        return _json({"error": "an error inside the service", "way_out": "its log says more"}, 500)


def _values(app: FastAPI, core: Core) -> None:
    content = {
        "application/json": {
            "schema": {"type": "object"},
            "example": [{"key": "boiler", "time": "2026-03-01T12:00:00Z", "value": 20.5}],
        },
        "application/x-ndjson": {"schema": {"type": "string"}, "example": '{"key": "boiler", "value": 20.5}\n'},
        "text/csv": {"schema": {"type": "string"}, "example": "key,time,value\nboiler,2026-03-01T12:00:00Z,20.5\n"},
    }

    @app.post(
        "/v1/observe",
        tags=["values"],
        summary="Take in one value or a batch",
        openapi_extra={"requestBody": {"required": True, "content": content}},
        responses={
            200: {"model": models.Observed},
            413: {"model": models.Error, "description": "Body, batch or number of series over the limit."},
            415: {"model": models.Error, "description": "Not JSON, JSON lines or CSV."},
            503: {"model": models.Error, "description": "The disk is behind, or the service is stopping."},
        },
    )
    async def observe(
        request: Request,
        asked: Asked,
        answers: Annotated[str, Query(description="rows, columns or none", pattern="^(rows|columns|none)$")] = "rows",
    ) -> Response:
        reader = _reader(request)
        body = await _body(request, core)
        if asked.name is not None:
            check_key(asked.name, core.settings, field="name")
        small = len(body) <= core.settings.inline
        batch = reader(body, asked, core.settings) if small else await core.read(reader, body, asked, core.settings)
        core.guard.rates.take(address(request.scope), "values", len(batch))
        taken = await core.observe(batch)
        status = taken.columns["status"]
        answer: dict[str, Any] = {what: status.count(what) for what in ("taken", "late", "missing")}
        answer |= {"cursor": taken.cursor, "boot": core.backlog.boot}
        if batch.notes:
            answer["notes"] = list(batch.notes)
        if answers != "none":
            answer[answers] = taken.columns if answers == "columns" else rows_of(taken.columns)
        return _json(answer)

    @app.post(
        "/v1/table",
        tags=["values"],
        summary="What the columns of a table are, by its first rows",
        openapi_extra={"requestBody": {"required": True, "content": {"text/csv": content["text/csv"]}}},
        responses={200: {"model": models.Columns}},
    )
    async def columns(request: Request, asked: Asked) -> Response:
        body = await _body(request, core)
        return _json(await core.read(preview, body, asked))

    @app.get("/v1/values", tags=["values"], summary="Values after a cursor", responses={200: {"model": models.Values}})
    async def values(
        since: Annotated[int, Query(ge=0, description="The cursor of the last answer.")] = 0,
        limit: Annotated[int, Query(ge=1, le=core.settings.frame_rows)] = 1_000,
        key: Keys = None,
    ) -> Response:
        read = core.backlog.read(since, limit, None if key is None else frozenset(key))
        missed = None if read.missed is None else list(read.missed)
        return _json({"columns": read.columns, "cursor": read.after, "boot": core.backlog.boot, "missed": missed})


def _reader(request: Request) -> Callable[[bytes, BodyNames, Settings], Batch]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Problem(415, "compressed bodies are not read", "send the body as it is")
    if kind not in READERS:
        way_out = "send the header Content-Type: application/json, application/x-ndjson or text/csv"
        raise Problem(415, f"the body's type is {kind[:60] or 'not given'}", way_out)
    return READERS[kind]


async def _body(request: Request, core: Core) -> bytes:
    """The body, read no further than it may be long, no longer than it may take, and not beside too many others."""
    settings = core.settings
    too_large = Problem(413, f"the body has more than {settings.body} bytes", "send smaller batches")
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length[:20]) > settings.body:
        raise too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(settings.body_seconds):
            async for part in request.stream():
                parts.append(part)
                size += len(part)
                core.held += len(part)
                if size > settings.body:
                    raise too_large
                if core.held > settings.bodies:
                    raise Problem(503, "too many bodies are arriving", "send the batch again", retry_after=1.0)
    except TimeoutError:
        late = f"the body did not arrive within {settings.body_seconds:g} s"
        raise Problem(408, late, "send smaller batches") from None
    except asyncio.CancelledError:  # by the server, which has waited for the body as long as a stop may take
        late = "the service is stopping and the body has not arrived"
        raise Problem(503, late, "send the batch again to the next one", retry_after=1.0) from None
    finally:
        core.held -= size
    return b"".join(parts)


def _series(app: FastAPI, core: Core) -> None:
    unknown = {404: {"model": models.Error, "description": "There is no such series."}}
    limits = core.settings

    @app.get("/v1/series", tags=["series"], summary="The series", responses={200: {"model": models.Listed}})
    async def series(
        search: Annotated[str | None, Query(max_length=200, description="Part of the key, any case.")] = None,
        offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
        limit: Annotated[int, Query(ge=1, le=limits.page)] = 100,
        recent: Annotated[int, Query(ge=0, le=200, description="Recent values of each.")] = 0,
    ) -> Response:
        return _json(await core.series(search or None, offset, limit, recent))

    whole: Any = {200: {"model": models.Whole}, **unknown}

    @app.get("/v1/series/{key:path}", tags=["series"], summary="Everything about one", responses=whole)
    async def one(key: str, count: Annotated[int, Query(ge=1, le=limits.count)] = 500) -> Response:
        return _json(await core.one(key, count))

    @app.delete("/v1/series/{key:path}", tags=["series"], summary="Forget one", status_code=204, responses=unknown)  # type: ignore[arg-type]
    async def remove(key: str) -> Response:
        await core.remove(key)
        return Response(status_code=204)

    ahead: Any = {
        200: {"model": models.Forecasted},
        **unknown,
        409: {"model": models.Error, "description": "Too few values yet."},
    }

    @app.get("/v1/forecast", tags=["series"], summary="The next values of one", responses=ahead)
    async def forecast(
        key: Key,
        horizon: Annotated[int, Query(ge=1, le=limits.horizon, description="Steps.")] = 100,
        level: Annotated[float, Query(ge=1e-6, le=1 - 1e-6, description="Probability of the interval.")] = 0.9,
    ) -> Response:
        return _json(await core.forecast(key, horizon, level))

    @app.get("/v1/alarms", tags=["alarms"], summary="Alarms after a cursor", responses={200: {"model": models.Alarms}})
    async def alarms(
        since: Annotated[int, Query(ge=0, le=2**62, description="The cursor of the last answer.")] = 0,
        limit: Annotated[int, Query(ge=1, le=limits.page)] = 100,
        key: Annotated[str | None, Query(max_length=limits.key_length)] = None,
        first: Annotated[bool, Query(description="Of every disturbance only the alarm that began it.")] = False,
    ) -> Response:
        return _json(await core.alarms(since, limit, key, first))


def _live(app: FastAPI, core: Core) -> None:
    @app.websocket("/v1/live")
    async def live(socket: WebSocket) -> None:
        await follow(socket, core)


def _pages(app: FastAPI, core: Core) -> None:
    @app.head("/v1/health", include_in_schema=False)
    @app.get("/v1/health", tags=["service"], summary="Whether it answers", responses={200: {"model": models.Health}})
    async def health(request: Request) -> Response:
        found: dict[str, Any] = {"status": "ok", "version": prophecy.__version__}
        with contextlib.suppress(Problem):
            core.guard.check_token(request.scope, bearer(headers_of(request.scope)))
            found["series"], aside = await core.read(lambda: (len(core.fleet), core.fleet.aside()))
            found["set_aside"] = [{"key": one.key, "reason": one.reason} for one in aside[: core.settings.page]]
        return _json(found)

    @app.get("/metrics", tags=["service"], summary="Counters for Prometheus")
    async def metrics() -> Response:
        known, aside = await core.read(lambda: (len(core.fleet), len(core.fleet.aside())))
        gauges = [
            ("prophecy_series", "Series known.", float(known)),
            ("prophecy_series_set_aside", "Series that could not be read.", float(aside)),
            ("prophecy_values_waiting", "Values waiting for the disk.", float(core.writer.waiting)),
            ("prophecy_live_cursor", "Live number of the last value.", float(core.backlog.last)),
            ("prophecy_memory_bytes", "Largest resident memory so far.", files.memory()),
        ]
        return Response(core.metrics.text(gauges), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.head("/", include_in_schema=False)
    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> Response:
        return files.answer("index.html", request.headers)

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return files.answer("docs.html", request.headers)

    @app.get("/favicon.ico", include_in_schema=False)
    async def icon(request: Request) -> Response:
        return files.answer("icon.svg", request.headers)

    @app.get("/page/{name}", include_in_schema=False)
    async def part(name: str, request: Request) -> Response:
        return await core.read(files.answer, name, request.headers)
