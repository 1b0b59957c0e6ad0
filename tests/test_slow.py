"""The list of slow tests is made from a run's durations, and names tests that exist."""

from pathlib import Path

from tools import slow

ROOT = Path(__file__).parent.parent
LOG = """
12.50s call     tests/test_a.py::test_one[1]
2.00s setup    tests/test_a.py::test_one[2]
3.00s call     tests/test_b.py::test_two
0.50s call     tests/test_b.py::test_three
"""


def test_the_slowest_functions_are_left_out_until_the_rest_is_quick():
    found = slow.durations(LOG)
    assert found == {
        "tests/test_a.py::test_one": 14.5,
        "tests/test_b.py::test_two": 3.0,
        "tests/test_b.py::test_three": 0.5,
    }
    assert slow.slowest(found, 18.0) == []
    assert slow.slowest(found, 4.0) == ["tests/test_a.py::test_one"]
    assert slow.slowest(found, 1.0) == ["tests/test_a.py::test_one", "tests/test_b.py::test_two"]


def test_every_slow_test_exists():
    lines = [line for line in (ROOT / "tests" / "slow.txt").read_text().split("\n") if line and line[0] != "#"]
    for line in lines:
        file, _, function = line.partition("::")
        assert (ROOT / file).is_file(), line
        assert f"def {function.rpartition('::')[2]}" in (ROOT / file).read_text() or not function, line
