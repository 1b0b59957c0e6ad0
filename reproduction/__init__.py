"""Every figure and table of the paper, recomputed: one small file per experiment.

`python -m reproduction` finds the experiments, computes what is missing (the two tables first), writes
`results/<name>.json` and, after every page, `report.html`, which is made from the results files alone.

To add a page, put one file into this folder, with a subclass of `framework.Experiment`:

    class MyPage(Experiment):
        name = "my-page"                     # results/my-page.json, the command's argument, the page's anchor
        title = "What the page is about"
        reference = "Fig. 1b"                # or "beyond the paper"
        place = 200                          # pages are sorted by this
        functions = 100                      # functions at full scale; 0 if --functions means nothing to it
        caption = "What one sees; mean over {functions} functions."

        def units(self, ask): ...            # the work in pieces, `Unit`s: one piece is what a kill can lose
        def compute(self, ask, unit): ...    # runs in a worker process; returns JSON
        def gather(self, ask, parts): ...    # the `Outcome`; parts[unit.name] is what compute returned
        def draw(self, result): ...          # from the results file alone; returns a matplotlib Figure
        def verdicts(self, result): ...      # does the statement hold, and which number says so

Text may hold `code` and $x_{k+1}$. Import matplotlib, torch and other extras inside functions: the list of experiments
must load with numpy and scipy alone. Pieces are cached under a key made of the settings, the seed, the version and the
code that the page's computation reaches (`keys` finds it) and of the files named in `data`. Results that need a GPU are
made by `reproduction.trained`.
"""

STOPPED = "Stopped. What was finished is kept; run the same command again to go on."
