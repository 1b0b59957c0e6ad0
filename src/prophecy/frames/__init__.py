"""Tables as people have them: files, frames and arrays as series on their calendar. No models here.

`opening` recognises and unpacks a file; `rows` and `objects` make columns of it; `columns` decides what each column
holds and reads its numbers (`numbers` has their notation, `dates` that of dates); `roles` says which is time, key and
value; `table` puts them together; `collect` and `align` make series on the `grid` of their times.
"""
