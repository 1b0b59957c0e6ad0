"""Every figure and table of the paper, recomputed: one small file per experiment.

`python -m reproduction` finds the experiments, computes what is missing (the two tables first), writes
`results/<name>.json` and, after every page, `report.html`, which is made from the results files alone.

To add a page, put one file into this folder; nothing else needs to change. It defines a subclass of
`framework.Experiment`:

    class MyPage(Experiment):
        name = "my-page"                     # results/my-page.json, the command's argument, the page's anchor
        title = "What the page is about"
        reference = "Fig. 1b"                # or "beyond the paper"
        place = 200                          # pages are sorted by this
        functions = 100                      # functions at full scale; 0 if --functions means nothing to it

        def units(self, ask):                # the work in pieces: one piece is what a kill can lose
            return [Unit("White Signal, 1, 0", {"cutoff": 1.0, "first": 0, "count": 25}), ...]

        def compute(self, ask, unit):        # runs in a worker process; returns JSON
            u = signals.white_signal(unit.arguments["cutoff"], unit.arguments["count"], seed=ask.seed + ...)
            return {"mse": [...]}

        def gather(self, ask, parts):        # parts[unit.name] is what compute returned
            return Outcome(rows=[row(...)], details={...})

        caption = "What one sees; mean over {functions} functions."
        alt = "The same for somebody who cannot see it."

        def draw(self, result):              # from the results file alone; returns a matplotlib Figure
            figure, axes = style.figure(1, 3)
            ...

        def verdicts(self, result):          # does the statement hold, and which number says so
            return [Verdict("Error falls with context.", True, "It falls 40-fold, from 2e-3 to 5e-5.", condition="")]

Also to override where wanted: `pictures` (several, or words that depend on results), `settings` (what else the numbers
depend on), `tables` (by default every row with a paper value, as paper | ours | ratio), `slips` (what the paper got
wrong, with evidence), `introduction`, `headline` (a sentence for the top of the report), `lead` (a picture for it). A
page under "Open questions" is an `OpenQuestion` with `question`, `method` (five lines) and `doubts`. Text may hold
`code` and $TeX$ (what `mathml` knows). Colours and figure sizes come from `reproduction.style`. Import matplotlib,
torch and other extras inside functions, never at the top of a file: the list of experiments must load with numpy and
scipy alone.

Pieces are cached under a key made of the settings, the seed, the package version and the code that the page's
computation reaches (`keys` finds it); files of the package that a page reads are named in its attribute `data`. Results
that need a GPU are made by `reproduction.trained` and read through `trained_runs`.
"""
