"""One self-contained HTML page per run, comparison, seed study or reproduction; it opens from disk, offline.

`pages` writes pages of runs, `reproduction` the page of verdicts; the rest prepares data. The page itself is
`templates/`, `static/` and the vendored uPlot in `vendor/`.
"""

from headwise.view.report.members import Member, read_member
from headwise.view.report.pages import Live, runs_page, write_runs_page
from headwise.view.report.reproduction import reproduction_page, write_reproduction_page
from headwise.view.report.small_pictures import Sketch, SketchCurve
from headwise.view.report.verdict_rows import Mood, ShownStatement, ShownVerdict

__all__ = [
    "Live",
    "Member",
    "Mood",
    "ShownStatement",
    "ShownVerdict",
    "Sketch",
    "SketchCurve",
    "read_member",
    "reproduction_page",
    "runs_page",
    "write_reproduction_page",
    "write_runs_page",
]
