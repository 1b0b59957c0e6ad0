"""Tables as people have them: files, frames and arrays as series on their calendar. No models here.

`opening` recognises a file, `text` and `objects` give its rows, `heading` tells names, titles and units from them;
`columns` decides kinds and notation, each by the column as a whole; `roles` which is time, key and value; `table` reads
cells as numbers and times, `source` times of frames; `collect` and `align` make series of them.
"""
