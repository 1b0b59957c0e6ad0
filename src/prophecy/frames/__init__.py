"""Tables as people have them: dates, calendars, and the frames of any library. No models here.

`times` holds moments, `dates` reads and writes them as text, `grid` finds the calendar they follow, `align` turns rows
into series on it, `source` reads and makes frames.
"""
