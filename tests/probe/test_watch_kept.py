"""From a watch to what is left of it: text, a run directory, a page, a notebook's output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import matplotlib.image
import pytest
import torch
from torch import nn

import headwise
from headwise.core.errors import ConfigError
from headwise.core.trajectory import attribute
from headwise.probe import Watch


def watched(*, steps: int = 6, every: int = 1) -> Watch:
    """A layer whose weights move a little at each step, shown token ids through an embedding."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(11, 8), nn.TransformerEncoderLayer(8, nhead=2, batch_first=True, dropout=0.0))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    tokens = torch.randint(11, (4, 9))
    with headwise.watch(model, tokens=tokens, every=every) as w:
        for _ in range(steps):
            loss = model(tokens).pow(2).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            w.step(loss)
    return w


@pytest.fixture(scope="module")
def w() -> Watch:
    return watched()


def test_a_saved_watch_is_a_run_like_any_other(w: Watch, tmp_path: Path) -> None:
    run = w.save(tmp_path, label="a small one")
    assert run.parent == tmp_path / "watch-a-small-one"
    assert headwise.verify(tmp_path).sound
    [listed] = headwise.list_runs(tmp_path, care="full")
    assert (listed.path, listed.status, listed.steps) == (run, "finished", 6)
    loaded = headwise.load(run)
    assert loaded.equals(w.trajectory), "every number and name comes back"
    assert {name: attribute(loaded, name) for name in loaded.attrs} == {
        name: attribute(w.trajectory, name) for name in w.trajectory.attrs
    }
    assert str(headwise.detect(headwise.load(run), groups="found")) == str(w.report())
    assert headwise.show(run).config["label"] == "a small one"
    assert headwise.page(run, tmp_path / "page.html").runs == (run,)
    assert headwise.draw_run(run).axes


def test_saving_again_finds_the_run_and_more_looks_make_another(tmp_path: Path) -> None:
    run = watched(steps=2).save(tmp_path)
    before = {file: file.read_bytes() for file in run.iterdir() if file.suffix != ".lock"}
    assert watched(steps=2).save(tmp_path) == run
    assert {file: file.read_bytes() for file in before} == before, "nothing is written twice"
    assert watched(steps=3).save(tmp_path) != run
    assert watched(steps=2).save(tmp_path, seed=1).name.endswith("-s1")
    assert headwise.verify(tmp_path).sound
    assert len(headwise.list_runs(tmp_path)) == 3


def test_a_saved_watch_whose_numbers_are_changed_is_damaged(w: Watch, tmp_path: Path) -> None:
    run = w.save(tmp_path)
    [metrics] = run.glob("metrics-*.parquet")
    content = bytearray(metrics.read_bytes())
    content[len(content) // 2] ^= 1
    metrics.write_bytes(content)
    assert not headwise.verify(tmp_path).sound


def test_seeds_of_one_setting_share_a_page(tmp_path: Path) -> None:
    for seed in (0, 1):
        watched(steps=2).save(tmp_path, label="pair", seed=seed)
    headwise.page(tmp_path, tmp_path / "seeds.html")
    assert "study of 2 seeds" in (tmp_path / "seeds.html").read_text()


def test_a_page_takes_watches_trajectories_runs_and_lists(w: Watch, tmp_path: Path) -> None:
    run = w.save(tmp_path / "runs")
    file = tmp_path / "w.nc"
    w.trajectory.to_netcdf(file, engine="scipy")
    given = (w, w.trajectory, run, str(run), f"{tmp_path}/runs/*/*-s0", file, [w, file], (run,))
    for number, shown in enumerate(given):
        written = headwise.page(shown, tmp_path / f"{number}.html")
        assert written.bytes > 100_000
    assert w.page(tmp_path / "own.html", title="My title").page.read_text().count("<h1>My title</h1>") == 1


def test_print_says_what_is_watched_and_what_heads_do(w: Watch) -> None:
    lines = str(w).splitlines()
    assert lines[0].startswith("Sequential (torch): 1 layer of 2 heads")
    assert lines[1].startswith("7 looks from step 0 to 6; loss (train) ")
    assert [line.split()[0] for line in lines[-2:]] == ["L0H0", "L0H1"]
    assert max(map(len, lines)) <= 80
    assert repr(w).startswith("<Watch of Sequential")
    untouched = headwise.watch(nn.Linear(2, 2), tokens=torch.zeros(1, 2, dtype=torch.long))
    assert "no look yet" in str(untouched)


def test_heads_are_called_by_what_raw_attention_says() -> None:
    """Two heads made by hand: one on the previous token, one on its own with a seventh elsewhere."""
    length = 12
    previous = torch.eye(length).roll(1, dims=0)
    previous[0] = torch.eye(length)[0]
    own = 0.9 * torch.eye(length) + 0.1 / torch.arange(1, length + 1)[:, None] * torch.ones(length, length).tril()
    maps = torch.stack([previous, own]).tril()

    def attention(tokens: torch.Tensor) -> torch.Tensor:
        return maps.expand(1, len(tokens), 2, length, length)

    with headwise.watch(attention, tokens=torch.randint(7, (5, length)), every=1) as w:
        w.step()
    first, second = str(w).splitlines()[-2:]
    assert "lag 2 (previous token)" in first
    assert "lag 1 (own token)" in second
    share = float(torch.diagonal(own).mean())
    assert f"{share:.2f}" in second.split()


def test_a_notebook_shows_the_timeline_and_the_whole_page(w: Watch) -> None:
    small = w._repr_html_()
    assert "<svg" in small
    assert "7 looks from step 0 to 6" in small
    frame = w.show(height=700)._repr_html_()
    assert frame.startswith('<iframe srcdoc="')
    assert frame.count("<iframe") == 1
    assert frame.count('"') == frame.count('="') * 2, "the page inside is escaped as a whole"
    assert 'height="700"' in frame
    with pytest.raises(ConfigError, match="height = 5 is not between"):
        w.show(height=5)


def test_a_frame_in_a_notebook_is_small_next_to_the_page(w: Watch, tmp_path: Path) -> None:
    size = w.page(tmp_path / "w.html").bytes
    assert size < len(w.show()._repr_html_()) < 1.4 * size


def test_nothing_recorded_is_one_sentence(tmp_path: Path) -> None:
    w = headwise.watch(nn.TransformerEncoderLayer(8, 2, batch_first=True), tokens=torch.randn(2, 4, 8))
    for act in (lambda: w.save(tmp_path), lambda: w.page(tmp_path / "x.html"), w.report, w.show):
        with pytest.raises(ConfigError, match="nothing has been recorded yet"):
            act()
    assert list(tmp_path.iterdir()) == []


def test_commands_take_patterns_and_files(w: Watch, tmp_path: Path) -> None:
    w.save(tmp_path / "runs", label="mine")
    w.trajectory.to_netcdf(tmp_path / "w.nc", engine="scipy")
    for arguments in (
        ("show", "runs/*/*-s0", "--figure", "show.png"),
        ("show", "w.nc", "--json"),
        ("phases", "w.nc", "--json"),
        ("phases", "runs/watch-mine/*", "--json"),
        ("report", "w.nc", "runs/*/*", "-o", "both.html"),
        ("verify", "runs/*/*"),
    ):
        command = [sys.executable, "-m", "headwise", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (arguments, done.stderr)
        if arguments[-1] == "--json":
            json.loads(done.stdout)
    assert (tmp_path / "show.png").stat().st_size > 5000
    refused = subprocess.run(
        [sys.executable, "-m", "headwise", "show", "runs/*/*-s7"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "fits no run" in refused.stderr


def test_the_figure_of_one_look_shows_its_numbers(tmp_path: Path) -> None:
    """A probe of one checkpoint has one step; what was measured there is drawn all the same."""
    w = watched(steps=0)
    headwise.draw_run(w.save(tmp_path), tmp_path / "one.png")
    pixels = (255 * matplotlib.image.imread(tmp_path / "one.png")[..., :3]).astype(int)
    blue = (pixels[..., 2] - pixels[..., 0] > 20).mean()
    assert blue > 0.05, "cells with attention are coloured, not a sliver of an axis"
