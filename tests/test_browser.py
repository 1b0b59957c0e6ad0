"""The page in a real browser: nothing lost, nothing from elsewhere, usable by keyboard, on a phone and in the dark.

Needs a Chromium of the system (PROPHECY_CHROMIUM names another one). PROPHECY_SHOTS names a folder for pictures.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("httpx")
pytest.importorskip("playwright.sync_api")
pytest.importorskip("uvicorn")

import httpx
from playwright.sync_api import expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROMIUM = os.environ.get("PROPHECY_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: install one, or name it in PROPHECY_CHROMIUM")
TOKEN = "0123456789abcdef-0123456789"
PATIENCE = 30_000  # milliseconds; a busy machine, not a slow page


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--headless"])
        yield found
        found.close()


@pytest.fixture
def visit(browser):
    """Open the page; afterwards no request may have gone elsewhere and no script may have failed or been refused."""
    contexts, wrong = [], []

    def open_page(url, path="/", **options):
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on(
            "request",
            lambda request: None if request.url.startswith((url, "data:", "blob:")) else wrong.append(request.url),
        )
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda line: wrong.append(line.text) if "Content Security Policy" in line.text else None)
        page.goto(url + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture(scope="module")
def service(serving_all):
    """One service with a daily season, noise with a spike, and a key that is markup."""
    started = serving_all()
    rng = np.random.default_rng(5)
    day = 20 - 5 * np.cos(2 * np.pi * np.arange(400) / 24) + 0.2 * rng.standard_normal(400)
    noise = rng.standard_normal(300)
    post(started.url, "day", day.tolist())
    post(started.url, "noise", noise.tolist())
    post(started.url, MARKUP, [1.0, 2.0, 3.0])
    return started.url


MARKUP = '<img src=x onerror="document.title=1"> & <b>bold</b>'


def post(url, key, values, first=0, headers=None):
    times = list(range(1_700_000_000 + first, 1_700_000_000 + first + len(values)))
    stamps = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment)) for moment in times]
    body = {"key": key, "time": stamps, "value": values}
    answer = httpx.post(url + "/v1/observe?answers=none", json=body, headers=headers, timeout=60)
    assert answer.status_code == 200, answer.text


def series(url, key):
    from urllib.parse import quote

    return url, f"/#/series/{quote(key, safe='')}"


def drawn(page, name="value"):
    """What the chart shows of one trace."""
    return page.evaluate("name => document.getElementById('chart').data?.find((t) => t.name === name)?.y ?? []", name)


def until(check, seconds=30.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if check():
            return
        time.sleep(0.1)
    assert check()


def shot(page, name, **options):
    folder = os.environ.get("PROPHECY_SHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", **options)


def test_the_page_shows_a_thousand_messages_without_losing_one(serving, visit):
    url = serving().url
    post(url, "a", [0.0])
    page = visit(*series(url, "a"))
    page.select_option("#window", "0")
    until(lambda: drawn(page) == [0.0])
    values = [float(k) if k % 7 else -float(k) for k in range(1, 1001)]
    with httpx.Client(base_url=url) as http:
        for k, value in enumerate(values):
            row = {
                "key": "a",
                "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_700_000_001 + k)),
                "value": value,
            }
            assert http.post("/v1/observe?answers=none", json=row).status_code == 200
    expect(page.locator("#received")).to_have_attribute("data-count", "1000", timeout=PATIENCE)
    until(lambda: drawn(page) == [0.0, *values])
    expect(page.locator("#value")).to_have_text("1000")


def test_an_event_appears_in_the_list_the_events_and_the_chart_and_a_click_leads_there(service, visit):
    page = visit(*series(service, "day"))
    expect(page.locator("#name")).to_have_text("day")
    seen = page.locator("#events li").count()
    post(service, "noise", [70.0], first=300)
    row = page.locator("#list a", has_text="noise")
    expect(row).to_have_class(re.compile("eventful"), timeout=PATIENCE)
    expect(row).to_contain_text("event")
    until(lambda: page.locator("#events li").count() > seen)
    expect(page.locator("#announce")).to_contain_text("noise")
    page.locator("#events li button").first.click()
    expect(page.locator("#name")).to_have_text("noise")
    expect(page.locator("#caption")).to_contain_text("Event", timeout=PATIENCE)
    expect(page.locator("#pause")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#pause")).to_have_text("Go on")
    expect(page.locator("#name")).to_be_in_viewport()
    until(lambda: 70.0 in drawn(page, "event"))
    left, right = page.evaluate("document.getElementById('chart').layout.xaxis.range")
    assert left < "2023-11-14T22:18:20" <= right


def test_past_events_of_a_series_without_times_are_marked_and_found(serving, visit):
    url = serving().url
    values = np.random.default_rng(4).standard_normal(300)
    values[280] = 60.0
    body = {"key": "plain", "value": values.tolist()}
    events = httpx.post(url + "/v1/observe?answers=columns", json=body, timeout=60).json()["columns"]["event"]
    page = visit(*series(url, "plain"))
    until(lambda: drawn(page, "event") == [v for v, event in zip(values, events, strict=True) if event][-256:])
    expect(page.locator("#list a", has_text="plain")).to_have_class(re.compile("eventful"), timeout=PATIENCE)
    page.locator("#events li button", has_text="60").first.click()
    expect(page.locator("#caption")).to_contain_text(f"Event {events[280]}", timeout=PATIENCE)
    expect(page.locator("#pause")).to_have_attribute("aria-pressed", "true")


def test_events_of_one_disturbance_are_one_line_without_times_too(serving, visit):
    url = serving().url
    rng = np.random.default_rng(2)
    values = [*rng.standard_normal(400).tolist(), *(30 * rng.standard_normal(30)).tolist()]
    assert httpx.post(url + "/v1/observe", json={"key": "plain", "value": values}, timeout=60).status_code == 200
    raised = httpx.get(url + "/v1/events?limit=500").json()["events"]
    burst = [event["place"] for event in raised if event["place"] >= 400]
    assert len(burst) > 1
    first = visit(*series(url, "plain")).locator("#events li").first
    expect(first).to_contain_text(f"{len(burst)} within {burst[-1] - burst[0]} values", timeout=PATIENCE)


def test_events_of_one_disturbance_are_one_line(serving, visit):
    url = serving().url
    rng = np.random.default_rng(2)
    calm, wild = rng.standard_normal(400), 30 * rng.standard_normal(30)
    post(url, "pump", [*calm.tolist(), *wild.tolist()])
    raised = httpx.get(url + "/v1/events?limit=500").json()["events"]
    burst = [event for event in raised if event["time"] >= "2023-11-14T22:20:00Z"]
    assert len(burst) > 1
    page = visit(*series(url, "pump"))
    first = page.locator("#events li").first
    expect(first).to_contain_text(f"{len(burst)} within", timeout=PATIENCE)
    worst = max(burst, key=lambda event: event["score"])
    first.locator("button").click()
    expect(page.locator("#caption")).to_contain_text(f"Event {worst['number']}", timeout=PATIENCE)


def test_a_forecast_is_drawn_with_its_fan_and_told_in_words(service, visit):
    page = visit(*series(service, "day"))
    until(lambda: len(drawn(page)) > 200)
    page.keyboard.press("f")
    expect(page.locator("#chart")).to_have_attribute("data-fan", "49", timeout=PATIENCE)
    own = httpx.get(service + "/v1/forecast?key=day&horizon=48", timeout=60).json()
    assert drawn(page, "forecast")[1:] == own["point"]
    assert drawn(page, "q0.95")[1:] == own["quantiles"]["0.95"]
    expect(page.locator("#ahead")).to_contain_text(own["method"])
    page.locator("#clear").click()
    expect(page.locator("#chart")).to_have_attribute("data-fan", "0")


def test_a_series_has_value_interval_slope_and_words(service, visit):
    page = visit(*series(service, "day"))
    about = httpx.get(service + "/v1/series/day?count=1").json()
    expect(page.locator("#words")).to_contain_text("values seen", timeout=PATIENCE)
    for line in about["words"].splitlines()[:2]:
        expect(page.locator("#words")).to_contain_text(line.strip())
    assert float(page.locator("#value").inner_text().replace("−", "-")) == pytest.approx(about["value"], abs=1e-3)
    assert float(page.locator("#next").inner_text().replace("−", "-")) == pytest.approx(about["point"], abs=1e-3)
    seconds = {"per second": 1, "per minute": 60, "per hour": 3_600, "per day": 86_400}
    slope = about["derivative"] * seconds[page.locator("#per").inner_text()]
    assert float(page.locator("#slope").inner_text().replace("−", "-")) == pytest.approx(slope, rel=1e-3)
    expect(page.locator("#facts")).to_contain_text("season of 24 values")


def test_names_that_are_markup_are_shown_and_not_run(service, visit):
    page = visit(*series(service, MARKUP))
    expect(page.locator("#name")).to_have_text(MARKUP)
    expect(page.locator("#list a", has_text="onerror")).to_be_visible()
    assert page.locator("#list img, #name img, #list b, #name b").count() == 0
    assert page.title().startswith("<img")


@pytest.mark.parametrize("how", ["chosen", "dropped"])
def test_a_csv_becomes_series(service, visit, tmp_path, how):
    values = [round(float(np.sin(k / 4)), 4) for k in range(600)]
    table = "Date;warm;cold\n" + "".join(
        f"{k % 28 + 1:02d}.{k // 28 % 12 + 1:02d}.{2000 + k // 336};{v};{-v}\n" for k, v in enumerate(values)
    )
    name = f"hall {how}"
    page = visit(service)
    if how == "chosen":
        (tmp_path / f"{name}.csv").write_text(table)
        page.set_input_files("#file", tmp_path / f"{name}.csv")
    else:
        handle = page.evaluate_handle(
            "([text, name]) => { const d = new DataTransfer(); d.items.add(new File([text], name)); return d; }",
            [table, f"{name}.csv"],
        )
        page.dispatch_event("body", "dragenter", {"dataTransfer": handle})
        expect(page.locator("#veil")).to_be_visible()
        page.dispatch_event("body", "drop", {"dataTransfer": handle})
    expect(page.locator("#dropped")).to_contain_text("1 200 values of 2 series", timeout=PATIENCE)
    expect(page.locator("#name")).to_have_text(f"{name}/warm", timeout=PATIENCE)
    page.select_option("#window", "0")
    until(lambda: drawn(page) == values)


SCREENS = [
    (f"{width} {scheme}", {"viewport": {"width": width, "height": 844}, "color_scheme": scheme})
    for width in (1280, 390)
    for scheme in ("light", "dark")
]


@pytest.mark.parametrize(("screen", "options"), SCREENS, ids=[name for name, _ in SCREENS])
def test_a_keyed_table_is_asked_about_and_becomes_a_series_for_each_key(service, visit, tmp_path, screen, options):
    file = tmp_path / f"shops {screen}.csv"
    tag = screen.replace(" ", "")
    lines = [f"{shop}{tag},2024-01-{day:02d},{k + day}" for k, shop in enumerate("xyz") for day in range(1, 29)]
    file.write_text("\n".join(["sku,date,qty", *sorted(lines, key=lambda line: line.split(",")[1])]) + "\n")
    page = visit(service, **options)
    page.set_input_files("#file", file)
    dialog = page.locator("#columns")
    expect(dialog).to_be_visible(timeout=PATIENCE)
    expect(page.locator("#columns-why")).to_contain_text("'sku' tells their rows apart")
    assert page.locator("#column-key").input_value() == "sku"
    box = dialog.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= options["viewport"]["width"]
    shot(page, f"columns {screen}")
    dialog.get_by_role("button", name="Read").click()
    expect(page.locator("#dropped")).to_contain_text("84 values of 3 series", timeout=PATIENCE)
    found = httpx.get(f"{service}/v1/series/y{tag}").json()["recent"]
    assert found["value"] == [1 + day for day in range(1, 29)]
    assert found["time"][0] == "2024-01-01T00:00:00Z"
    shot(page, f"keyed {screen}")


def test_rows_that_come_again_in_another_piece_of_a_file_are_dropped_and_said(service, visit, tmp_path):
    file = tmp_path / "overlap.csv"
    rows = [f"{np.datetime64('2024-01-01') + np.timedelta64(k, 'm')},{k * k % 97}" for k in range(50_000)]
    file.write_text("\n".join(["time,overlap", *rows, *rows[:700]]) + "\n")
    page = visit(service)
    page.set_input_files("#file", file)
    expect(page.locator("#dropped")).to_contain_text("of 1 series (700 exact duplicates dropped)", timeout=PATIENCE)
    assert "late" not in page.locator("#dropped").inner_text()


@pytest.mark.parametrize(("screen", "options"), SCREENS, ids=[name for name, _ in SCREENS])
def test_epochs_are_dates_and_a_question_can_be_left(service, visit, tmp_path, screen, options):
    tag = screen.replace(" ", "")
    (tmp_path / f"epoch{tag}.csv").write_text(
        "ts,v\n" + "".join(f"{1_700_000_000_000 + 60_000 * k},{k % 7}\n" for k in range(40))
    )
    page = visit(service, **options)
    page.set_input_files("#file", tmp_path / f"epoch{tag}.csv")
    expect(page.locator("#dropped")).to_contain_text("read as time since 1970 in ms", timeout=PATIENCE)
    expect(page.locator("#when")).to_contain_text("2023-11-14 22:52:20 UTC", timeout=PATIENCE)
    shot(page, f"epochs {screen}")
    (tmp_path / f"days{tag}.csv").write_text("day,v\n01/02/2024,1\n02/02/2024,2\n03/02/2024,3\n")
    page.set_input_files("#file", tmp_path / f"days{tag}.csv")
    expect(page.locator("#columns-why")).to_contain_text("1 Feb 2024", timeout=PATIENCE)
    page.locator("#columns").get_by_role("button", name="Leave it").click()
    expect(page.locator("#dropped")).to_contain_text("not read")
    assert httpx.get(f"{service}/v1/series/days{tag}").status_code == 404
    page.set_input_files("#file", tmp_path / f"days{tag}.csv")
    page.fill("#column-format", "%d/%m/%Y")
    page.locator("#columns").get_by_role("button", name="Read").click()
    expect(page.locator("#dropped")).to_contain_text("3 values of 1 series", timeout=PATIENCE)
    assert httpx.get(f"{service}/v1/series/days{tag}").json()["recent"]["time"][-1] == "2024-02-03T00:00:00Z"


def test_the_page_proposes_the_way_out_and_shows_no_address(service, visit, tmp_path):
    page = visit(service, viewport={"width": 390, "height": 700})
    rows = [f"{key},2024-01-{day:02d},{day}" for day in range(1, 20) for key in (101, 102)]
    (tmp_path / "numbered.csv").write_text("\n".join(["id,date,qty", *rows]) + "\n")
    page.set_input_files("#file", tmp_path / "numbered.csv")
    expect(page.locator("#columns")).to_be_visible(timeout=PATIENCE)
    assert page.locator("#column-key").input_value() == "id"
    page.keyboard.press("Escape")
    (tmp_path / "two.csv").write_text('day,v\n2024-01-01,9.34\n2024-01-02,"14.804,00"\n')
    page.set_input_files("#file", tmp_path / "two.csv")
    expect(page.locator("#dropped")).to_contain_text("Write all of them in one way.", timeout=PATIENCE)
    expect(page.locator("#dropped")).to_be_in_viewport()
    assert "?decimal" not in page.locator("#dropped").inner_text()
    rows = [f"{a},{b},2024-02-{day:02d},{day}" for day in range(1, 20) for a in "NS" for b in "xy"]
    (tmp_path / "together.csv").write_text("\n".join(["region,item,date,qty", *rows]) + "\n")
    page.set_input_files("#file", tmp_path / "together.csv")
    expect(page.locator("#columns-why")).to_contain_text("This key is chosen below", timeout=PATIENCE)
    expect(page.locator("#column-key")).to_have_value("region + item", timeout=PATIENCE)
    page.locator("#columns").get_by_role("button", name="Read").click()
    expect(page.locator("#dropped")).to_contain_text("76 values of 4 series", timeout=PATIENCE)


def test_steps_and_slopes_have_the_unit_people_use(service, visit):
    days = range(1, 29)
    body = {"key": "daily", "time": [f"2024-01-{day:02}" for day in days], "value": [float(day) for day in days]}
    assert httpx.post(service + "/v1/observe", json=body).status_code == 200
    page = visit(*series(service, "daily"))
    expect(page.locator("#facts")).to_contain_text("every day", timeout=PATIENCE)
    expect(page.locator("#per")).to_have_text("per day")
    assert float(page.locator("#slope").inner_text()) == pytest.approx(1.0, rel=0.05)
    expect(page.locator("#when")).to_have_text("2024-01-28")


def test_events_say_what_their_numbers_are(service, visit):
    page = visit(service)
    post(service, "labelled", [*np.random.default_rng(4).normal(size=300).tolist(), 34.374])
    page.reload()
    line = page.locator("#events li", has_text="labelled").first
    expect(line).to_contain_text("value 34.374:", timeout=PATIENCE)
    expect(line).to_contain_text("score")


def test_a_csv_that_cannot_be_read_says_where_and_what_to_do(service, visit, tmp_path):
    (tmp_path / "wrong.csv").write_text("key,value\na,1\nb,warm\n")
    page = visit(service)
    page.set_input_files("#file", tmp_path / "wrong.csv")
    expect(page.locator("#columns-why")).to_contain_text("'value' holds 'warm' in row 2 of the data", timeout=PATIENCE)
    page.keyboard.press("Escape")
    expect(page.locator("#dropped")).to_contain_text("not read", timeout=PATIENCE)
    assert httpx.get(service + "/v1/series/b").status_code == 404


def test_everything_can_be_reached_by_keyboard(service, visit):
    spike = [*np.random.default_rng(4).normal(size=300).tolist(), 50.0]
    body = {"key": ["typed"] * len(spike), "value": spike}
    assert 1 in np.sign(httpx.post(service + "/v1/observe?answers=columns", json=body).json()["columns"]["event"])
    page = visit(service)
    expect(page.locator("#list a").first).to_be_visible(timeout=PATIENCE)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("noi")
    expect(page.locator("#list a")).to_have_count(1, timeout=PATIENCE)
    page.keyboard.type("zzz")
    expect(page.locator("#none")).to_contain_text("noizzz", timeout=PATIENCE)
    page.keyboard.press("Escape")
    until(lambda: page.locator("#list a").count() > 1)
    first = page.locator("#name").inner_text()
    page.keyboard.press("j")
    until(lambda: page.locator("#name").inner_text() != first)
    page.keyboard.press("k")
    until(lambda: page.locator("#name").inner_text() == first)
    page.keyboard.press("p")
    expect(page.locator("#pause")).to_have_attribute("aria-pressed", "true")
    wanted = {"skip", "search", "list", "file", "window", "pause", "horizon", "forecast", "events", "theme"}
    focus = "(e => e.id || e.closest('#list, #events')?.id || e.className)(document.activeElement)"
    for _ in range(150):  # once round: there are up to 60 events
        page.keyboard.press("Tab")
        wanted.discard(page.evaluate(focus))
        if not wanted:
            break
    assert wanted == set()


def test_every_control_has_a_name_for_those_who_listen(service, visit):
    page = visit(*series(service, "day"))
    until(lambda: len(drawn(page)) > 0)
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, a')].filter((e) => e.offsetParent !== null &&
        !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.[0]?.textContent.trim()))
        .map((e) => e.outerHTML)"""
    )
    assert unnamed == []
    assert page.locator("h1:visible").count() == 1
    assert page.locator("main").count() == 1
    assert "day" in page.locator("#chart").get_attribute("aria-label")


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground_as_wcag_aa_asks(service, visit, scheme):
    page = visit(service, color_scheme=scheme)
    names = ("ink", "soft", "muted", "blue", "red", "card", "wash", "paper", "on-blue", "blue-soft")
    script = "names => names.map((n) => getComputedStyle(document.documentElement).getPropertyValue('--' + n).trim())"
    colours = dict(zip(names, page.evaluate(script, list(names)), strict=True))
    colours = {
        name: "#" + "".join(2 * c for c in value[1:]) if len(value) == 4 else value for name, value in colours.items()
    }
    pairs = [(text, ground) for text in ("ink", "soft", "muted", "blue", "red") for ground in ("card", "wash", "paper")]
    for text, ground in [
        *pairs,
        ("on-blue", "blue"),
        ("ink", "blue-soft"),
        ("muted", "blue-soft"),
        ("blue", "blue-soft"),
    ]:
        light, dark = sorted((luminance(colours[text]), luminance(colours[ground])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (scheme, text, ground)


@pytest.mark.parametrize("width", [320, 390, 768, 1024, 1920])
def test_no_width_makes_the_page_scroll_sideways(service, visit, width):
    page = visit(*series(service, MARKUP), viewport={"width": width, "height": 800})
    expect(page.locator("#name")).to_have_text(MARKUP)
    page.wait_for_timeout(500)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_phone_shows_the_list_then_a_series_and_the_way_back(service, visit):
    page = visit(service, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, color_scheme="dark")
    expect(page.locator("#list a").first).to_be_visible(timeout=PATIENCE)
    expect(page.locator("#open")).to_be_hidden()
    page.locator("#list a[href='#/series/day']").tap()
    expect(page.locator("#list")).to_be_hidden()
    until(lambda: len(drawn(page)) > 0)
    page.locator(".back").tap()
    expect(page.locator("#list")).to_be_visible()


def test_the_token_is_asked_for_kept_in_the_tab_and_a_wrong_one_is_told(serving, visit):
    url = serving(PROPHECY_TOKEN=TOKEN).url
    post(url, "a", [1.0, 2.0], headers={"authorization": f"Bearer {TOKEN}"})
    page = visit(url)
    expect(page.locator("#ask")).to_be_visible(timeout=PATIENCE)
    assert page.locator("#list a").count() == 0
    page.fill("#token", "wrong-wrong-wrong-wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#ask-error")).to_contain_text("not accepted", timeout=PATIENCE)
    page.fill("#token", TOKEN)
    page.keyboard.press("Enter")
    expect(page.locator("#name")).to_have_text("a", timeout=PATIENCE)
    page.reload()
    expect(page.locator("#name")).to_have_text("a", timeout=PATIENCE)
    assert TOKEN not in page.url
    assert page.context.cookies() == []


def test_a_token_behind_the_hash_is_taken_and_removed_from_the_address(serving, visit):
    url = serving(PROPHECY_TOKEN=TOKEN).url
    post(url, "a", [1.0, 2.0], headers={"authorization": f"Bearer {TOKEN}"})
    page = visit(url, f"/#token={TOKEN}")
    expect(page.locator("#name")).to_have_text("a", timeout=PATIENCE)
    assert TOKEN not in page.url


def test_the_page_goes_on_by_itself_when_the_service_comes_back(serving, visit, tmp_path):
    started = serving("--db", tmp_path / "a.db")
    url, port = started.url, started.url.rpartition(":")[2]
    post(url, "a", [1.0, 2.0, 3.0])
    page = visit(*series(url, "a"))
    until(lambda: drawn(page) == [1.0, 2.0, 3.0])
    started.stop(signal.SIGKILL)
    expect(page.locator("#state")).to_have_text("reconnecting", timeout=PATIENCE)
    serving("--db", tmp_path / "a.db", "--port", port)
    post(url, "a", [4.0], first=3)
    expect(page.locator("#state")).to_have_text("live", timeout=PATIENCE)
    until(lambda: drawn(page) == [1.0, 2.0, 3.0, 4.0])
    post(url, "a", [5.0], first=4)
    until(lambda: drawn(page) == [1.0, 2.0, 3.0, 4.0, 5.0])


def test_an_empty_service_says_how_to_begin_and_the_first_value_appears_by_itself(serving, visit):
    url = serving().url
    page = visit(url)
    expect(page.locator("#empty")).to_be_visible(timeout=PATIENCE)
    expect(page.locator("#curl")).to_contain_text(f"curl {url}/v1/observe")
    post(url, "first", [1.0])
    expect(page.locator("#name")).to_have_text("first", timeout=PATIENCE)
    expect(page.locator("#empty")).to_be_hidden()


def test_the_page_of_the_api_lists_every_route(service, visit):
    page = visit(service, "/docs")
    found = httpx.get(service + "/openapi.json").json()
    expect(page.locator("details")).to_have_count(sum(len(one) for one in found["paths"].values()), timeout=PATIENCE)
    for path in found["paths"]:
        expect(page.locator("summary code", has_text=re.compile(re.escape(path) + "$")).first).to_be_visible()
    page.locator("summary").first.click()
    expect(page.locator("details pre").first).to_contain_text("curl")


def test_pictures_of_the_demonstration_in_the_light_the_dark_and_on_a_phone(serving, visit):
    url = serving("--demo").url
    until(lambda: httpx.get(url + "/v1/series").json()["total"] == 5)
    for name, options in {
        "service": {"color_scheme": "light"},
        "service-dark": {"color_scheme": "dark"},
        "service-phone": {"color_scheme": "dark", "viewport": {"width": 390, "height": 844}, "device_scale_factor": 2},
    }.items():
        page = visit(*series(url, "demo/city load, MW"), **options)
        until(lambda page=page: len(drawn(page)) > 200)
        page.keyboard.press("f")
        expect(page.locator("#chart")).to_have_attribute("data-fan", "49", timeout=60_000)
        page.wait_for_timeout(1500)
        shot(page, name)
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (
            luminance("#" + "".join(f"{int(c):02x}" for c in re.findall(r"\d+", background)[:3])) > 0.8
            or options["color_scheme"] == "dark"
        )
