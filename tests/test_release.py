"""One command raises the version, everywhere or nowhere."""

import re
from pathlib import Path

import pytest

from tools import release

ROOT = Path(__file__).parent.parent


@pytest.fixture
def copy(tmp_path):
    for name in release.PLACES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    log = tmp_path / "CHANGELOG.md"
    log.write_text(re.sub(r"(?m)\A(.*?)^## .*?$", r"\1## 9.8.7, in work", log.read_text(), count=1, flags=re.S))
    return tmp_path


def texts(folder):
    return {name: (folder / name).read_text() for name in release.PLACES}


def test_all_places_change_and_nothing_else(copy):
    before = texts(copy)
    release.main(["9.8.7"], copy)
    for name, text in texts(copy).items():
        pairs = zip(before[name].splitlines(), text.splitlines(), strict=True)
        (changed,) = [new for old, new in pairs if old != new]
        assert "9.8.7" in changed, name
    assert re.search(r"(?m)^## 9\.8\.7 \(\d{4}-\d\d-\d\d\)$", texts(copy)["CHANGELOG.md"])


@pytest.mark.parametrize("version", ["9.9.0", "9.8", "v9.8.7"])
def test_another_version_than_the_changelogs_changes_nothing(copy, version):
    before = texts(copy)
    with pytest.raises(SystemExit):
        release.main([version], copy)
    assert texts(copy) == before
