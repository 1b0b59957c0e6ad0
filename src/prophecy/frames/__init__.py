"""Tables as people have them: files, frames and arrays as series on their calendar. No models here.

A table is a list of columns. `opening` recognises a file, `text` and `objects` give its columns, `table` those of a
frame. `columns` decides their kinds and notation, each by the column as a whole; `roles` which is time, key and value;
`stray` and `clock` read cells as numbers and times; `collect` and `align` make series of them.
"""
