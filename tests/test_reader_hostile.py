"""Excel files made to exhaust whoever opens them: each is refused with a sentence before it is unfolded."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest

from prophecy.frames.table import open_table

openpyxl = pytest.importorskip("openpyxl")

SHEET = "xl/worksheets/sheet1.xml"


def rewritten(path, change):
    """A small sheet of numbers, its XML changed."""
    book, made = openpyxl.Workbook(), io.BytesIO()
    for row in (["time", "value"], *([k, float(k)] for k in range(30))):
        book.active.append(row)
    book.save(made)
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name == SHEET else old.read(name))
    return str(path)


def test_entities_that_unfold_are_refused_with_a_sentence(tmp_path):
    """A traceback of the parser's."""
    each = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))
    head = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "lol">{each}]>'.encode()
    path = rewritten(
        tmp_path / "bomb.xlsx",
        lambda data: head + data.split(b"?>", 1)[-1].replace(b"<v>5</v>", b"<v>&e11;</v>", 1),
    )
    with pytest.raises(ValueError, match=r"not a readable Excel file.*save it again, or as CSV"):
        open_table(path)


def test_a_sheet_that_unfolds_to_gigabytes_is_refused_unread(tmp_path):
    """28 s for a file of 1.9 MB."""
    path = tmp_path / "large.xlsx"
    rewritten(path, lambda data: data)
    data = bytearray(path.read_bytes())
    place = data.rindex(SHEET.encode()) - 46  # its entry in the archive's directory
    assert data[place : place + 4] == b"PK\x01\x02"
    struct.pack_into("<I", data, place + 24, 2**31)
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"unpacks to 2,048 MB, and at most 512 are read"):
        open_table(str(path))
