"""The application: routes of the API, the page and its parts."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, FastAPI, Query, Request, WebSocket
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

import prophecy
from prophecy.fleet.answers import STATUS
from prophecy.service import files
from prophecy.service.bodies import Batch, BodyNames, check_key, from_json, from_lines
from prophecy.service.core import Core
from prophecy.service.errors import Problem, again, bad, dumped, stopping
from prophecy.service.guard import GuardMiddleware, address, bearer, headers_of
from prophecy.service.live import follow
from prophecy.service.settings import DEFAULT, Settings
from prophecy.service.shapes import reference, rows_of, schemas
from prophecy.service.tables import from_csv, preview

if TYPE_CHECKING:
    from prophecy.fleet import Fleet

LOG = logging.getLogger("prophecy.service")
JSON_LINES = ("application/x-ndjson", "application/jsonl", "application/x-jsonlines", "application/json-lines")
Reader = Callable[[bytes, BodyNames, Settings], Batch]
READERS: dict[str, Reader] = {
    "application/json": from_json,
    "text/csv": from_csv,
    **dict.fromkeys(JSON_LINES, from_lines),
}
INLINE = (from_json, from_lines)  # read at once where a body is small; a small table may have 2 000 columns
EXAMPLES = {
    "application/json": [{"key": "boiler", "time": "2026-03-01T12:00:00Z", "value": 20.5}],
    "application/x-ndjson": '{"key": "boiler", "value": 20.5}\n',
    "text/csv": "key,time,value\nboiler,2026-03-01T12:00:00Z,20.5\n",
}
ERRORS = {
    400: "The request cannot be used.",
    401: "A token is needed.",
    404: "There is no such series.",
    409: "Too few values yet.",
    413: "Body, batch or number of series over the limit.",
    415: "Not JSON, JSON lines or CSV.",
    429: "Too many from this address.",
    503: "The disk is behind, or the service is stopping.",
}

Background = Callable[[Core], Coroutine[Any, Any, None]]

Key = Annotated[str, Query(description="The series.", min_length=1, max_length=DEFAULT.key_length)]
Keys = Annotated[list[str] | None, Query(description="Series to send; repeatable; all if not given.")]
Cursor = Annotated[int, Query(ge=0, le=2**62, description="The cursor of the last answer.")]
Asked = Annotated[BodyNames, Depends()]


def _answers(shape: str | None, *errors: int) -> dict[int | str, dict[str, Any]]:
    """What a route answers, for the API's description: a shape, and these errors besides those of all routes."""
    named = ({200: (shape, "Answered.")} if shape else {}) | {code: ("Error", ERRORS[code]) for code in errors}
    return {
        code: {"description": text, "content": {"application/json": {"schema": reference(name)}}}
        for code, (name, text) in named.items()
    }


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
        summary="Predictions, intervals, events and forecasts of live series, with no training.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        responses=_answers(None, 400, 401, 429),
    )
    for kind in (Problem, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _refused)
    _values(app, core)
    _series(app, core)
    _others(app, core)
    app.openapi().setdefault("components", {}).setdefault("schemas", {}).update(schemas())
    return GuardMiddleware(app, core.guard, core.metrics.note, core.strangers)


def _json(content: Any) -> Response:
    return Response(content if isinstance(content, bytes) else dumped(content), media_type="application/json")


async def _written(columns: dict[str, list[Any]], as_rows: bool, most: int) -> bytes:
    """Answers as JSON, by columns or so many rows at a time: no other request is served while a piece is written."""
    pieces: Iterable[Any] = ({name: column} for name, column in columns.items())
    if as_rows:
        starts = range(0, len(columns["key"]), most)
        pieces = (rows_of({name: column[k : k + most] for name, column in columns.items()}) for k in starts)
    found = []
    for piece in pieces:
        found.append(dumped(piece)[1:-1])
        await asyncio.sleep(0)
    return (b"[%b]" if as_rows else b"{%b}") % b",".join(found)


async def _refused(_: Request, error: Exception) -> Response:
    """All errors have one shape; what is not expected is logged here, and the client gets no details."""
    if isinstance(error, Problem):
        return error.response()
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        field = str(first["loc"][-1])
        return bad(f"{field}: {first['msg']}", "GET /docs describes every parameter", field=field).response()
    if isinstance(error, HTTPException):
        found = Problem(error.status_code, str(error.detail).lower(), "GET /docs lists what there is")
        return found.response(error.headers)
    LOG.error("unexpected error", exc_info=error)
    return Problem(500, "an error inside the service", "its log says more").response()


def _values(app: FastAPI, core: Core) -> None:
    def body(*kinds: str) -> dict[str, Any]:
        return {"requestBody": {"required": True, "content": {kind: {"example": EXAMPLES[kind]} for kind in kinds}}}

    @app.post(
        "/v1/observe",
        tags=["values"],
        summary="Take in one value or a batch",
        openapi_extra=body(*EXAMPLES),
        responses=_answers("Observed", 413, 415, 503),
    )
    async def observe(
        request: Request,
        asked: Asked,
        answers: Annotated[str, Query(description="rows, columns or none", pattern="^(rows|columns|none)$")] = "rows",
    ) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if request.headers.get("content-encoding", "identity") != "identity":
            raise Problem(415, "compressed bodies are not read", "send the body as it is")
        if kind not in READERS:
            way_out = "send the header Content-Type: application/json, application/x-ndjson or text/csv"
            raise Problem(415, f"the body's type is {kind[:60] or 'not given'}", way_out)
        reader = READERS[kind]
        sent = await _body(request, core)
        if asked.name is not None:
            check_key(asked.name, core.settings, field="name")
        small = reader in INLINE and len(sent) <= core.settings.inline
        batch = reader(sent, asked, core.settings) if small else await core.read(reader, sent, asked, core.settings)
        core.guard.rates.take(address(request.scope), "values", len(batch))
        taken = await core.observe(batch)
        status = taken.columns["status"]
        answer: dict[str, Any] = {what: status.count(what) for what in STATUS}
        answer |= {"cursor": taken.cursor, "boot": core.backlog.boot}
        if batch.notes:
            answer["notes"] = list(batch.notes)
        if answers != "none":
            written = await _written(taken.columns, answers == "rows", core.settings.frame_rows)
            return _json(b'%b,"%b":%b}' % (dumped(answer)[:-1], answers.encode(), written))
        return _json(answer)

    about = "What the columns of a table are, by its first rows"

    @app.post(
        "/v1/table", tags=["values"], summary=about, openapi_extra=body("text/csv"), responses=_answers("Columns", 413)
    )
    async def columns(request: Request, asked: Asked) -> Response:
        return _json(await core.read(preview, await _body(request, core), asked))

    @app.get("/v1/values", tags=["values"], summary="Values after a cursor", responses=_answers("Values"))
    async def values(
        since: Cursor = 0,
        limit: Annotated[int, Query(ge=1, le=core.settings.frame_rows)] = 1_000,
        key: Keys = None,
    ) -> Response:
        read = core.backlog.read(since, limit, None if key is None else frozenset(key))
        return _json({"columns": read.columns, "cursor": read.after, "boot": core.backlog.boot, "missed": read.missed})


async def _body(request: Request, core: Core) -> bytes:
    """The body, read no further than it may be long, no longer than it may take, and not beside too many others."""
    settings = core.settings
    too_large = Problem(413, f"the body has more than {settings.body} bytes", "send smaller batches")
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length[:20]) > settings.body:
        raise too_large
    found = bytearray()
    try:
        async with asyncio.timeout(settings.body_seconds):
            async for part in request.stream():
                found += part
                core.held += len(part)
                if len(found) > settings.body:
                    raise too_large
                if core.held > 8 * settings.body:
                    raise again("too many bodies are arriving")
    except TimeoutError:
        late = f"the body did not arrive within {settings.body_seconds:g} s"
        raise Problem(408, late, "send smaller batches") from None
    except ClientDisconnect:  # nobody is there to be answered
        raise bad("the body broke off", "send it again") from None
    except asyncio.CancelledError:  # by the server, which has waited for the body as long as a stop may take
        raise stopping("the service is stopping and the body has not arrived") from None
    finally:
        core.held -= len(found)
    return bytes(found)


def _series(app: FastAPI, core: Core) -> None:
    limits, path = core.settings, "/v1/series/{key:path}"

    @app.get("/v1/series", tags=["series"], summary="The series", responses=_answers("Listed"))
    async def series(
        search: Annotated[str | None, Query(max_length=200, description="Part of the key, any case.")] = None,
        offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
        limit: Annotated[int, Query(ge=1, le=limits.page)] = 100,
        recent: Annotated[int, Query(ge=0, le=200, description="Recent values of each.")] = 0,
    ) -> Response:
        return _json(await core.read(core.series, search or None, offset, limit, recent))

    @app.get(path, tags=["series"], summary="Everything about one", responses=_answers("Whole", 404))
    async def one(key: str, count: Annotated[int, Query(ge=1, le=limits.count)] = 500) -> Response:
        return _json(await core.one(key, count))

    @app.delete(path, tags=["series"], summary="Forget one", status_code=204, responses=_answers(None, 404))
    async def remove(key: str) -> Response:
        await core.remove(key)
        return Response(status_code=204)

    @app.get("/v1/forecast", tags=["series"], summary="The next values", responses=_answers("Forecasted", 404, 409))
    async def forecast(
        key: Key,
        horizon: Annotated[int, Query(ge=1, le=limits.horizon, description="Steps.")] = 100,
        level: Annotated[float, Query(ge=1e-6, le=1 - 1e-6, description="Probability of the interval.")] = 0.9,
    ) -> Response:
        return _json(await core.forecast(key, horizon, level))

    @app.get("/v1/alarms", include_in_schema=False)  # as it was called in version 0.2
    @app.get("/v1/events", tags=["events"], summary="Events after a cursor", responses=_answers("Events", 404))
    async def events(
        request: Request,
        since: Cursor = 0,
        limit: Annotated[int, Query(ge=1, le=limits.page)] = 100,
        key: Annotated[str | None, Query(max_length=limits.key_length)] = None,
        first: Annotated[bool, Query(description="Of every disturbance only the event that began it.")] = False,
    ) -> Response:
        found = await core.read(core.events, since, limit, key, first)
        return _json(found if request.url.path == "/v1/events" else {"alarms": found.pop("events"), **found})


def _others(app: FastAPI, core: Core) -> None:
    @app.websocket("/v1/live")
    async def live(socket: WebSocket) -> None:
        await follow(socket, core)

    @app.head("/v1/health", include_in_schema=False)
    @app.get("/v1/health", tags=["service"], summary="Whether it answers", responses=_answers("Health"))
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
        others = [
            ("events_total", "counter", "Events raised.", core.backlog.events.last),
            ("series", "gauge", "Series known.", known),
            ("series_set_aside", "gauge", "Series that could not be read.", aside),
            ("values_waiting", "gauge", "Values waiting for the disk.", core.writer.waiting),
            ("live_cursor", "gauge", "Live number of the last value.", core.backlog.values.last),
        ]
        return Response(core.metrics.text(others), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def page(request: Request) -> Response:
        name = files.PAGES.get(request.url.path) or request.path_params["name"]
        return await core.read(files.answer, name, request.headers)

    for path in (*files.PAGES, "/page/{name}"):
        app.add_api_route(path, page, methods=["GET", "HEAD"], include_in_schema=False)
