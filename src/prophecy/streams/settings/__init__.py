"""The numbers that steer the bank, each with its unit and the reason for it. `Prophecy(settings=...)` takes others.

`Settings` holds those of the step (`bank.py`) and groups of others: `periods` and `seasonal` (`seasons.py`),
`alarms`, `clock` (`times.py`), `ahead`. `replace(DEFAULT, alarms=replace(DEFAULT.alarms,
window=10))`, with `dataclasses.replace`, is how ablations are made (benchmarks/bank_ideas.py). Compiled code reads them
from the table it is handed (`table.TABLE`, which has the same groups), so nothing is compiled anew for others.

Not here, but beside the code, are sizes, codes and limits of numbers: how many lags, windows, members, centroids and
recent values there are fixes the layout of the record and of the rings, and with it the format of files; bounds such as
1e75 and 2^53 are float64's.
"""

from prophecy.streams.settings.bank import DEFAULT, Settings
from prophecy.streams.settings.checked import Group, places

__all__ = ["DEFAULT", "Group", "Settings", "places"]
