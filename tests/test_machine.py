"""What is asked of the machine: cores, the cache folder, threads of BLAS; and files replaced whole."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest
from threadpoolctl import ThreadpoolController

from prophecy import _files, _machine
from prophecy._machine import ONE_BLAS_THREAD


def threads() -> set[int]:
    return {one["num_threads"] for one in ThreadpoolController().info() if one["user_api"] == "blas"}


def test_blas_is_held_to_one_thread_inside_and_given_back():
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        with ONE_BLAS_THREAD:
            with ONE_BLAS_THREAD:
                assert threads() == {1}
            assert threads() == {1}
        assert threads() == {2}


def test_of_several_threads_inside_the_last_to_leave_gives_blas_its_threads_back():
    def work(_: int) -> set[int]:
        with ONE_BLAS_THREAD:
            return threads()

    with ThreadpoolController().limit(limits=2, user_api="blas"):
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(work, range(40))) == [{1}] * 40
        assert threads() == {2}


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not say which cores may be used")
def test_cores_are_those_this_process_may_use():
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {next(iter(allowed))})
        assert _machine.cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert _machine.cores() == len(allowed)


def test_a_file_is_replaced_whole_or_left_as_it_was(tmp_path):
    target = tmp_path / "kept.csv"
    target.write_text("old")
    target.chmod(0o600)

    def fails_midway() -> None:
        with _files.replacing(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError("midway")

    with pytest.raises(RuntimeError, match="midway"):
        fails_midway()
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["kept.csv"]
    with _files.replacing(target) as temporary:
        assert temporary.suffix == ".csv"
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_new_file_has_the_permissions_that_the_umask_leaves_now(tmp_path):
    before = os.umask(0o027)
    try:
        _files.write_atomic(tmp_path / "new.txt", b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.txt").stat().st_mode) == 0o640


def test_a_symbolic_link_stays_one_when_what_it_points_to_is_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "real.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    _files.write_atomic(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    with pytest.raises(FileNotFoundError, match="create it first"):
        _files.write_atomic(tmp_path / "nowhere" / "x", b"")
