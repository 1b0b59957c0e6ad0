"""Who may ask: the service as an adversary would try it, from the network, from a web page, from a proxy."""

from __future__ import annotations

import hmac
import re
from dataclasses import replace

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from prophecy.fleet import Fleet
from prophecy.service import DEFAULT, create_app
from prophecy.service.guard import Guard, Rates, is_loopback
from prophecy.service.server import check_access

TOKEN = "correct-horse-battery-staple"
DATA = ("/v1/series", "/v1/series/a", "/v1/values", "/v1/events", "/v1/forecast?key=a", "/metrics")
VALUE = {"key": "a", "value": 1.0}


def client(base="http://127.0.0.1:8765", **options):
    return TestClient(create_app(Fleet(), **options), base_url=base, raise_server_exceptions=False)


@pytest.fixture(scope="module")
def local():
    with client() as found:
        found.post("/v1/observe", json=VALUE)
        yield found


@pytest.fixture(scope="module")
def remote():
    with client("http://plant.example.org", token=TOKEN) as found:
        yield found


def test_any_address_but_loopback_needs_a_token():
    for host in ("0.0.0.0", "::", "192.168.1.7", "plant.example.org", "", "localhost.example.org"):
        with pytest.raises(ValueError, match="token"):
            check_access(host, None, ())
        check_access(host, TOKEN, ())
    for host in ("127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost", "LOCALHOST"):
        check_access(host, None, ())
        assert is_loopback(host)


def test_a_name_for_a_proxy_needs_a_token_too():
    with pytest.raises(ValueError, match="proxy"):
        check_access("127.0.0.1", None, ("plant.example.org",))
    check_access("127.0.0.1", TOKEN, ("plant.example.org",))


@pytest.mark.parametrize(
    "token", ["", "short", "fifteen letters", "sixteen letters!", "a" * 15, "ü" * 20, "a" * 16 + "\n"]
)
def test_tokens_that_are_easily_guessed_or_cannot_be_sent_are_refused(token):
    with pytest.raises(ValueError, match="at least 16"):
        check_access("127.0.0.1", token, ())


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong-wrong-wrong-wrong",
        f"Basic {TOKEN}",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN.upper()}",
        f"Bearer {TOKEN}, Bearer {TOKEN}",
        "Bearer \xe4\xf6\xfc\xff",
    ],
)
def test_no_data_without_the_right_token(remote, header):
    headers = {} if header is None else {"authorization": header.encode("latin-1")}
    for path in DATA:
        answer = remote.get(path, headers=headers)
        assert answer.status_code in (401, 429), (path, answer.text)
        assert set(answer.json()) <= {"error", "way_out", "retry_after"}
    assert remote.post("/v1/observe", json=VALUE, headers=headers).status_code in (401, 429)
    assert remote.delete("/v1/series/a", headers=headers).status_code in (401, 429)


def test_the_right_token_opens_everything_and_the_page_itself_is_open(remote):
    headers = {"authorization": f"Bearer {TOKEN}"}
    assert remote.post("/v1/observe", json=VALUE, headers=headers).status_code == 200
    assert remote.get("/v1/series", headers=headers).json()["total"] == 1
    for path in ("/", "/docs", "/openapi.json", "/page/app.js"):
        assert remote.get(path).status_code == 200, path


def test_health_without_a_token_says_no_more_than_that_it_answers(remote):
    assert set(remote.get("/v1/health").json()) == {"status", "version"}
    assert "series" in remote.get("/v1/health", headers={"authorization": f"Bearer {TOKEN}"}).json()


def test_paths_that_merely_look_open_are_not(remote):
    for path in (
        "//v1/series",
        "/page/../v1/series",
        "/%2e/v1/series",
        "/v1/health/../series",
        "/docs/",
        "/v1/series/",
    ):
        answer = remote.get(path)
        assert answer.status_code in (401, 404, 429), path
        assert "series" not in answer.json(), path


def test_wrong_tokens_are_slowed_down_and_the_right_one_is_not():
    with client("http://plant", token=TOKEN) as service:
        codes = [
            service.get("/v1/series", headers={"authorization": f"Bearer {n:020d}"}).status_code for n in range(30)
        ]
        assert codes[:10] == [401] * 10
        assert codes[12:] == [429] * 18
        assert service.get("/v1/series", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example.org", "localhost.evil.org", "127.0.0.1.nip.io", "evil:8765", "", "[::", "a b"),
        *("evil@127.0.0.1", "127.0.0.1#evil", "127.0.0.1/evil", "127.0.0.1?evil", "127.0.0.1:80:80", "127.0.0.1:x"),
    ],
)
def test_a_foreign_name_that_resolves_to_loopback_is_refused(local, host):
    for path in ("/v1/series", "/", "/v1/health"):
        assert local.get(path, headers={"host": host}).status_code == 421, path
    assert local.post("/v1/observe", json=VALUE, headers={"host": host}).status_code == 421


def test_names_of_loopback_are_answered(local):
    for host in ("127.0.0.1:8765", "localhost:8765", "LOCALHOST", "[::1]:8765"):
        assert local.get("/v1/series", headers={"host": host}).status_code == 200, host


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example.org",
        "null",
        "http://127.0.0.1:3000",
        "http://localhost:8765",
        "file://",
        "http://127.0.0.1:8765.evil.org",
        "x",
    ],
)
def test_pages_of_another_origin_can_neither_read_nor_write(local, origin):
    before = local.get("/v1/series/a").json()["count"]
    for kind in ("application/json", "text/plain", "text/csv", "application/x-www-form-urlencoded"):
        answer = local.post(
            "/v1/observe", content='{"key": "a", "value": 1}', headers={"origin": origin, "content-type": kind}
        )
        assert answer.status_code == 403
    assert local.delete("/v1/series/a", headers={"origin": origin}).status_code == 403
    assert local.get("/v1/series", headers={"origin": origin}).status_code == 403
    with (
        pytest.raises(WebSocketDisconnect),
        local.websocket_connect("ws://127.0.0.1:8765/v1/live", headers={"origin": origin}),
    ):
        pass
    assert local.get("/v1/series/a").json()["count"] == before


def test_its_own_page_may_do_all_of_it(local):
    headers = {"origin": "http://127.0.0.1:8765", "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}
    assert local.post("/v1/observe", json=VALUE, headers=headers).status_code == 200
    with local.websocket_connect("ws://127.0.0.1:8765/v1/live", headers=headers) as socket:
        assert socket.receive_json()["type"] == "hello"


def test_requests_a_browser_marks_as_foreign_are_refused_except_a_link_to_the_page(local):
    foreign = {"sec-fetch-site": "cross-site"}
    assert local.get("/page/plotly.min.js", headers=foreign | {"sec-fetch-mode": "no-cors"}).status_code == 403
    assert local.get("/v1/series", headers=foreign | {"sec-fetch-mode": "navigate"}).status_code == 403
    assert local.get("/", headers=foreign | {"sec-fetch-mode": "navigate"}).status_code == 200
    assert local.get("/", headers={"sec-fetch-site": "none", "sec-fetch-mode": "navigate"}).status_code == 200


def test_there_is_no_permission_for_other_origins(local):
    answer = local.options(
        "/v1/observe", headers={"origin": "http://evil.org", "access-control-request-method": "POST"}
    )
    assert answer.status_code == 403
    assert not [name for name in local.get("/v1/series").headers if name.startswith("access-control")]


@pytest.mark.parametrize("header", ["x-forwarded-for", "forwarded", "via", "x-real-ip", "x-forwarded-host"])
def test_without_a_token_nothing_that_came_through_a_proxy_is_answered(local, header):
    assert local.get("/v1/series", headers={header: "203.0.113.9"}).status_code == 403


def test_behind_a_proxy_the_names_allowed_are_answered_and_others_are_not():
    with client("http://plant.example.org", token=TOKEN, hosts=("plant.example.org",)) as service:
        headers = {
            "authorization": f"Bearer {TOKEN}",
            "x-forwarded-for": "203.0.113.9",
            "origin": "https://plant.example.org",
        }
        for host, status in (("plant.example.org", 200), ("plant.example.org:443", 200), ("plant.example.org:80", 403)):
            assert service.get("/v1/series", headers=headers | {"host": host}).status_code == status, host
        headers["host"] = "other.example.org"
        assert service.get("/v1/series", headers=headers).status_code == 421


def test_forwarded_addresses_do_not_change_whom_rates_are_counted_for():
    with client("http://plant", token=TOKEN, settings=replace(DEFAULT, requests=1.0, burst=3.0)) as service:
        codes = [service.get("/v1/health", headers={"x-forwarded-for": f"10.0.0.{n}"}).status_code for n in range(6)]
    assert codes == [200] * 3 + [429] * 3


def test_bodies_of_a_type_forms_can_send_are_refused(local):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/jsonx"):
        answer = local.post("/v1/observe", content="{}", headers={"content-type": kind})
        assert answer.status_code == 415, kind
        assert "Content-Type" in answer.json()["way_out"]
    packed = {"content-type": "application/json", "content-encoding": "gzip"}
    assert local.post("/v1/observe", content=b"\x1f\x8b", headers=packed).status_code == 415


def test_every_answer_forbids_framing_sniffing_and_scripts_from_elsewhere(local):
    for path in ("/", "/docs", "/page/app.js", "/v1/series", "/v1/series/none", "/v1/none", "/metrics"):
        headers = local.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert not re.search(r"https?:|\*", policy)
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] in ("no-store", "no-cache")


def test_no_answer_names_a_path_of_the_machine(tmp_path):
    fleet = Fleet(tmp_path / "hidden.db")
    with TestClient(create_app(fleet), base_url="http://127.0.0.1", raise_server_exceptions=False) as service:
        service.post("/v1/observe", json=[VALUE] * 20)
        answers = [
            *(service.get(path) for path in (*DATA, "/", "/docs", "/openapi.json", "/v1/health", "/page/x.py", "/x")),
            service.post("/v1/observe", json={"key": "a", "value": 1e80}),
            service.post("/v1/observe", json={"key": "a", "value": "x"}),
            service.post("/v1/observe", content=b"\xff", headers={"content-type": "text/csv"}),
        ]
        fleet.close()
        answers += [service.get("/v1/series"), service.post("/v1/observe", json=VALUE)]
    for answer in answers:
        for word in (str(tmp_path), "hidden.db", "site-packages", "/src/", '.py"', "Traceback", "sqlite"):
            assert word not in answer.text, (word, answer.url)


def live(service, *messages, headers=None):
    with service.websocket_connect("ws://plant.example.org/v1/live", headers=headers or {}) as socket:
        for message in messages:
            socket.send_text(message)
        return socket.receive_json()


def test_a_live_reader_shows_its_token_as_a_header_or_first_message(remote):
    assert live(remote, headers={"authorization": f"Bearer {TOKEN}"})["type"] == "hello"
    assert live(remote, f'{{"token": "{TOKEN}"}}')["type"] == "hello"


@pytest.mark.parametrize(
    "message",
    [
        "{}",
        '{"token": null}',
        '{"token": "wrong"}',
        "x",
        '{"keys": null}',
        "[]",
        '{"token": {"a": 1}}',
        r'{"token": "\ud800"}',
    ],
)
def test_a_live_reader_without_the_token_is_told_nothing(message):
    with client("http://plant", token=TOKEN) as service, pytest.raises(WebSocketDisconnect) as closed:
        live(service, message)
    assert closed.value.code == 4401


def test_a_live_reader_with_a_wrong_header_is_refused_before_it_is_accepted(remote):
    with pytest.raises(WebSocketDisconnect):
        live(remote, headers={"authorization": "Bearer wrong-wrong-wrong-wrong"})


def test_a_live_reader_that_stays_silent_is_let_go():
    with client("http://plant", token=TOKEN, settings=replace(DEFAULT, quiet_seconds=0.05)) as service:
        with pytest.raises(WebSocketDisconnect) as closed:
            live(service)
        assert closed.value.code == 4401
        assert "prophecy_live_readers 0" in service.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"}).text


def test_rates_are_kept_for_a_bounded_number_of_addresses():
    rates = Rates(replace(DEFAULT, addresses=10), clock=lambda: 0.0)
    for n in range(1_000):
        rates.take(f"10.0.{n // 256}.{n % 256}", "requests")
    assert len(rates._buckets) == 30


def test_the_token_is_compared_by_a_function_made_for_that(monkeypatch):
    seen = []
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: seen.append((a, b)) or False)
    guard = Guard(TOKEN, (), Rates(DEFAULT))
    with pytest.raises(Exception, match="wrong"):
        guard.check_token({"client": ("10.0.0.1", 1)}, TOKEN)
    assert seen == [(TOKEN.encode(), TOKEN.encode())]
