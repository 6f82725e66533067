"""How figures are made and written: without pyplot, onto given axes, at once, and never empty."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from headwise.core.errors import ConfigError
from headwise.core.palette import HEADS, group_colour
from headwise.core.trajectory import assemble
from headwise.flow.config import FlowConfig
from headwise.flow.overlay import overlay_stages
from headwise.flow.simulate import simulate, solve_flow, to_trajectory
from headwise.paper.figures import FIGURES
from headwise.phases.detection import detect
from headwise.view import write
from headwise.view.draw import draw_panel, draw_sheet, headwise_style
from headwise.view.panels import AttentionMap, Bar, Curve, HeatMap, Plot, Sheet, Table, Timeline
from headwise.view.parts import band, by_head_and_group, moments
from headwise.view.sheets.data_size import data_size_sheet
from headwise.view.sheets.diagram import COLUMNS as CELL_COLUMNS
from headwise.view.sheets.diagram import diagram_sheet
from headwise.view.sheets.flow import flow_sheet
from headwise.view.sheets.heads import heads_sheet
from headwise.view.sheets.heads_by_lag import heads_by_lag
from headwise.view.sheets.main_figure import ideal_map
from headwise.view.sheets.overview import overview
from headwise.view.sheets.phases import phase_sheet
from headwise.view.sheets.theory import theory_sheet
from headwise.view.sheets.training import training_sheet
from headwise.view.stripes import STRIPES, rgb, striped
from headwise.view.style import lone_style
from headwise.view.table import COLUMNS, to_csv
from headwise.view.write import write_figure, write_sheet

sys.path.insert(0, str(Path(__file__).parents[1] / "browser"))
from synthetic_runs import trajectory

ROOT = Path(__file__).parents[2]


def line(title: str = "Loss") -> Plot:
    return Plot(title, "step", "nats", (Curve("test", np.arange(4.0), np.array([3.0, 2.0, 1.5, 1.2])),))


PANELS = [
    line(),
    AttentionMap("step 0", "key", "query", np.full((2, 3, 4), 0.25), np.arange(1, 5), np.arange(2, 5), {"I(1)": 2}),
    HeatMap("head 1", "step", "lag", np.arange(3.0), np.arange(1, 3), np.eye(2, 3), (0.0, 1.0), "share"),
    Timeline("", "step", ("a", "b"), (Bar("a", 0.0, 5.0, "one", "#888888"), Bar("b", 2.0, 7.0, "two", "#BBBBBB"))),
    Table(("a", "b"), (("1", "2"),)),
]


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: type(panel).__name__)
def test_a_panel_is_drawn_where_it_is_told(panel: Plot) -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert draw_panel(panel, ax=right) is figure
    assert not left.has_data()
    assert right.has_data() or right.tables
    alone = draw_panel(panel)
    assert isinstance(alone, Figure)
    assert alone.axes[0].get_title() == right.get_title()


def test_only_one_module_draws() -> None:
    """In the package, in its scripts and in its examples; and nobody uses pyplot."""
    importing = set()
    for path in (p for folder in ("src", "scripts", "examples") for p in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith("matplotlib.pyplot") for name in names), path
            if any(name.partition(".")[0] == "matplotlib" for name in names):
                importing.add(str(path.relative_to(ROOT)))
    only_a_type = {f"src/headwise/view/{name}.py" for name in ("write", "figures", "fitted_text", "notebook_figure")}
    assert importing == {"src/headwise/view/draw.py"} | only_a_type


def test_pyplot_stays_unused_and_sheets_need_no_matplotlib(tmp_path: Path) -> None:
    code = (
        "import sys, numpy as np\n"
        "import headwise.paper.figures, headwise.view.sheets.run, headwise.view.table\n"
        "assert 'matplotlib' not in sys.modules\n"
        "from headwise.view.panels import Curve, Plot, Sheet\n"
        "from headwise.view.write import write_sheet\n"
        "panel = Plot('a', 'x', 'y', (Curve('c', np.arange(3.0), np.arange(3.0)),))\n"
        f"write_sheet(Sheet(((panel,),)), {str(tmp_path / 'a.png')!r})\n"
        "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_style_holds_when_somebody_else_renders_the_figure() -> None:
    """A notebook renders outside our style: ticks and grid must have been made inside it."""
    sheet = overview([trajectory(evaluations=21, snapshots=4)])
    figures, pictures = (draw_sheet(sheet), draw_sheet(sheet)), (io.BytesIO(), io.BytesIO())
    with headwise_style():
        figures[0].savefig(pictures[0], format="png", dpi=80, bbox_inches="tight")
    figures[1].savefig(pictures[1], format="png", dpi=80, bbox_inches="tight")
    assert pictures[0].getvalue() == pictures[1].getvalue()


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_equal_figures_are_equal_files(ending: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_sheet(Sheet(((line(),),)), tmp_path / "below" / "here" / f"{name}.{ending}")
    first, second = (tmp_path / "below" / "here" / f"{name}.{ending}" for name in "ab")
    assert first.read_bytes() == second.read_bytes()
    assert sorted(path.name for path in first.parent.iterdir()) == ["a.csv", f"a.{ending}", "b.csv", f"b.{ending}"]


def test_a_figure_that_cannot_be_finished_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.png"
    write_sheet(Sheet(((line(),),)), path)
    before = path.read_bytes()
    figure = draw_sheet(Sheet(((line("another"),),)))
    monkeypatch.setattr("headwise.store.files.os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space")))
    with pytest.raises(ConfigError, match=r"cannot write .*a\.png: no space left on device; .* choose another path"):
        write_figure(figure, path)
    assert path.read_bytes() == before
    assert sorted(item.name for item in tmp_path.iterdir()) == ["a.csv", "a.png"]


def test_what_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.png").mkdir()
    for path in (tmp_path / "file" / "a.png", tmp_path / "folder.png"):
        with pytest.raises(ConfigError, match="cannot write"):
            write_sheet(Sheet(((line(),),)), path)
    with pytest.raises(ConfigError, match=r"a figure ends in \.png, \.pdf or \.svg"):
        write_sheet(Sheet(((line(),),)), tmp_path / "a.jpg")


class Nothing:
    """A diagram of a table in which no run has both keys."""

    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()


def test_nothing_to_draw_is_one_sentence(tmp_path: Path) -> None:
    bare = assemble({"learning_rate": np.ones(3)}, {"step": np.arange(3)})
    flow = simulate(FlowConfig(start="B", t_end=20.0))
    for make in (
        lambda: overview([bare]),
        lambda: training_sheet([bare]),
        lambda: heads_sheet([bare]),
        lambda: heads_by_lag(bare),
        lambda: flow_sheet(bare),
        lambda: flow_sheet(flow.isel(step=slice(0, 1))),
        lambda: theory_sheet([], flow),
        lambda: diagram_sheet([]),
        lambda: diagram_sheet([Nothing()]),
        lambda: phase_sheet(bare, detect(bare)),
        lambda: Sheet(()),
    ):
        with pytest.raises(ConfigError, match="there is nothing to draw: "):
            make()


def test_a_panel_without_a_finite_number_is_refused() -> None:
    empty = Plot("Loss", "step", "nats", (Curve("test", np.arange(4.0), np.full(4, np.nan)),))
    with pytest.raises(ConfigError, match="there is nothing to draw: Loss has no finite number"):
        Sheet(((line("another"), empty),))


def test_panels_of_a_sheet_have_names_of_their_own() -> None:
    with pytest.raises(ValueError, match="a name of its own"):
        Sheet(((line(), line()),))


def test_equal_heads_stand_side_by_side() -> None:
    """Three heads that attend alike are three stripes of equal width, in their own colours."""
    shares = np.zeros((3, 2, 2))
    shares[:, 0, 0] = 0.5
    shares[1, 1, 1] = 0.5
    picture = striped(shares).reshape(2, 2, STRIPES, 3)
    third = STRIPES // 3
    for head in range(3):
        np.testing.assert_allclose(picture[0, 0, head * third : (head + 1) * third], [rgb(HEADS[head])] * third)
    np.testing.assert_allclose(picture[1, 1], [rgb(HEADS[1])] * STRIPES)
    np.testing.assert_allclose(picture[0, 1], 1.0)


def colours_of(figure: Figure, colours: Sequence[str]) -> list[int]:
    """How many pixels of a rendered figure have each colour, to a few steps of its 255."""
    content = io.BytesIO()
    figure.savefig(content, format="rgba", dpi=400)
    # Rows and columns do not matter, and versions of matplotlib round their number differently.
    picture = np.frombuffer(content.getvalue(), np.uint8).reshape(-1, 4)[:, :3].astype(int)
    return [int((np.abs(picture - 255 * np.array(rgb(colour))).max(-1) < 4).sum()) for colour in colours]


@pytest.mark.parametrize("heads", [2, 3, 4, 8])
def test_curves_that_coincide_show_every_head(heads: int) -> None:
    """Equal heads, solid on their first group and dashed on the others, leave pixels of every colour."""
    times = np.linspace(0, 100, 30)
    values = np.repeat(np.stack([times / 120, 0.5 - times / 300], axis=1)[:, None], heads, axis=1)
    curves = by_head_and_group(times, values)
    seen = colours_of(draw_sheet(Sheet(((Plot("", "step", "share", curves, legend="none"),),))), HEADS[:heads])
    assert min(seen) > 100
    assert sum(seen) < 40 * min(seen), "none of them is a trace only"


def test_seeds_whose_heads_take_other_parts_are_lines_and_not_a_band() -> None:
    runs = [trajectory(seed=seed, evaluations=41) for seed in range(3)]
    other = [2, 0, 1]
    runs[1] = runs[1].isel(head=other, head2=other).assign_coords(head=[1, 2, 3], head2=[1, 2, 3])
    sheet = heads_sheet(runs)
    assert [panel.name.partition(",")[0] for panel in sheet.panels[::3]] == [
        "attention_by_group",
        "value_alignment",
        "value_coefficient",
    ]
    for row, variable in zip(sheet.rows, ("attention_by_group", "value_alignment", "value_coefficient"), strict=True):
        for group, panel in enumerate(row):
            assert isinstance(panel, Plot)
            assert all(curve.low is None for curve in panel.curves)
            drawn = {curve.series: curve for curve in panel.curves}
            assert len(drawn) == 9
            for head in range(3):
                own = runs[1][variable].values[:, 0, other.index(head), group]
                np.testing.assert_array_equal(drawn[f"head {head + 1}, seed 1"].y, own)
                assert drawn[f"head {head + 1}, seed 1"].width < drawn[f"head {head + 1}, seed 0"].width


def test_a_restricted_model_that_did_not_converge_leaves_its_panel_readable() -> None:
    """Seeds of trained predictors are lines: no shade between one that is stuck and the others."""
    runs = [trajectory(seed=seed, labels=("window_2", "window_4", "window_6")) for seed in range(3)]
    runs[2]["kl"][:, 1] = 5.0
    panel = data_size_sheet({600: runs}, []).panels[1]
    assert isinstance(panel, Plot)
    assert all(curve.low is None for curve in panel.curves)
    drawn = {curve.series: curve for curve in panel.curves}
    np.testing.assert_array_equal(drawn["window_4"].y, runs[0]["kl"].values[:, 1])
    np.testing.assert_array_equal(drawn["window_4, seed 2"].y, 5.0)
    assert [mark.at for mark in panel.marks] == [float(runs[0]["step"][int(runs[0]["excess_loss"].values.argmin())])]
    labels = [
        tick.get_text() for tick in draw_sheet(data_size_sheet({600: runs, 2000: runs}, [])).axes[0].get_xticklabels()
    ]
    assert labels == ["600", "2000"]


def test_a_shared_axis_holds_every_panel_of_its_row() -> None:
    low, high = (
        Plot(name, "step", "", (Curve("", np.arange(3.0), np.array([0.0, size, -size]), name="a"),), legend="none")
        for name, size in (("low", 1.0), ("high", 9.0))
    )
    for order in ((low, high), (high, low)):
        for ax in draw_sheet(Sheet((order,), layout="grid")).axes:
            assert ax.get_ylim()[0] <= -9
            assert ax.get_ylim()[1] >= 9


def test_the_ideal_attention_is_that_of_the_construction() -> None:
    """Against the attention of the exact solution of §2.2 as a model, with a large sharpness."""
    from headwise.model.construction import construct

    groups, weights = [[1, 2], [3, 4], [5, 6]], [[0.7, 0.3], [1.0, 1.0], [0.5, 0.5]]
    drawn = ideal_map(trajectory(groups=groups, attributes={"alpha": weights}))
    decoder = construct(np.stack([np.eye(4)] * 3), groups, weights, positions=25, sharpness=60.0)
    layer = decoder.layers[0].attention
    scores = layer.score_HDD.detach().numpy()[:, 4:, 4:].swapaxes(1, 2) * layer.inverse_scale
    scores = np.where(np.tri(25, dtype=bool), scores, -np.inf)
    attention = np.exp(scores - scores.max(-1, keepdims=True))
    attention /= attention.sum(-1, keepdims=True)
    np.testing.assert_allclose(drawn.attention, attention[:, drawn.queries - 1][..., drawn.keys - 1], atol=1e-12)


def test_theory_is_dashed_over_the_flow_from_the_printed_times() -> None:
    flow = solve_flow(FlowConfig(start="B", t_end=400.0))
    sheet = theory_sheet(overlay_stages(flow), to_trajectory(flow))
    figure = draw_sheet(sheet)
    for panel, ax in zip(sheet.panels, figure.axes, strict=True):
        assert isinstance(panel, Plot)
        times = [mark.at for mark in panel.marks if mark.axis == "x"]
        assert times == [25.0]
        lines = dict(zip([curve.series for curve in panel.curves], ax.lines, strict=False))
        assert all((line.get_linestyle() == "-") == name.endswith("flow") for name, line in lines.items())
        assert {name.partition(", ")[2] for name in lines} == {"flow", "theory, stage 2"}


def test_a_band_is_the_range_over_the_shared_steps() -> None:
    runs = [trajectory(seed=seed, evaluations=11) for seed in range(3)]
    runs[1] = runs[1].isel(step=slice(0, 8))
    curve = band("loss", runs, lambda run: run["loss"].sel(split="test").values, colour="#000000")
    values = np.stack([run["loss"].sel(split="test").values[:8] for run in runs])
    np.testing.assert_array_equal(curve.x, runs[0]["step"].values[:8])
    np.testing.assert_array_equal(curve.y, np.sort(values, axis=0)[1])
    np.testing.assert_array_equal(curve.low, np.sort(values, axis=0)[0])
    np.testing.assert_array_equal(curve.high, np.sort(values, axis=0)[2])


def test_maps_are_shown_where_the_run_is_nearest_to_a_predictor() -> None:
    run = trajectory(snapshots=21)
    chosen = moments(run)
    assert len(chosen) == 4
    assert chosen[0] == 0
    assert chosen[-1] == 20
    for name in ("prefix_1", "prefix_2"):
        curve = run["kl"].sel(predictor=name)
        nearest = float(run["step"].values[int(curve.values.argmin())])
        assert int(np.abs(run["snapshot"].values - nearest).argmin()) in chosen


def test_seeds_without_a_band_leave_its_columns_empty() -> None:
    one, two = (to_csv(overview([trajectory(seed=seed) for seed in range(count)])) for count in (1, 2))
    columns = one.splitlines()[0].split(",")
    assert columns == ["panel", "series", "x", "y", "low", "high", "value"]
    assert one.splitlines()[1].split(",")[4:6] == ["", ""]
    assert all(two.splitlines()[1].split(",")[4:6])
    assert write.figure_path("a.PNG") == Path("a.PNG")


def test_the_python_of_the_page_about_figures_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    assert len(blocks) == 3
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/figures.md", "exec"), names)
    found = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert found == ["again.csv", "again.pdf", "again.svg", "flow.csv", "flow.png"]
    figure = names["figure"]
    assert isinstance(figure, Figure)
    assert all(ax.has_data() for ax in figure.axes)


def test_the_page_about_figures_lists_every_figure_of_the_paper() -> None:
    page = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
    listed = [line for line in page.splitlines() if line.startswith("| ")]
    for entry in FIGURES:
        (line,) = [row for row in listed if f"`{entry.name}`" in row]
        for label in re.findall(r"fig:[\w-]+", entry.label):
            assert f"`{label}`" in line


def test_the_page_about_figures_names_every_column() -> None:
    page = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
    for column in (*COLUMNS, *CELL_COLUMNS):
        assert f"`{column}`" in page


def test_a_notebook_shows_a_figure_by_itself() -> None:
    """As IPython asks for it: a method of the object, with neither pyplot nor a magic line."""
    panel = Plot("Loss", "step", "nats", (Curve("test", np.arange(3), np.array([3.0, 2.0, 1.0])),))
    assert draw_sheet(Sheet(((panel,),)))._repr_png_().startswith(b"\x89PNG")


def test_lines_of_many_predictors_differ_in_colour_or_style() -> None:
    """A watch with a corpus has eight predictors and there are six colours."""
    assert len({(group_colour(index), lone_style(index)) for index in range(36)}) == 36
