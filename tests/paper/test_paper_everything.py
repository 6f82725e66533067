"""Every entry of the manifest goes from runs to verdict or drawing, under both readings.

The runs are far too small to show anything: this is about nothing being left out or breaking, not about claims.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headwise.cli.main import main
from headwise.paper import scale
from headwise.paper.entry import Claim, Figure
from headwise.paper.manifest import ENTRIES
from headwise.paper.scale import Size

NAMES = [name for name in ENTRIES if name != "theorems"]
"""The theorems have tests of their own and take minutes."""


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("short_fits")
@pytest.mark.parametrize("preset", ["published", "text"])
def test_every_entry_is_judged_or_drawn(
    preset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = Size(6, 6, 12, 1)
    for sizes in (scale.MINIMAL, scale.MINIMAL_TEXT, scale.FULL, *scale.OWN.values()):
        monkeypatch.setitem(sizes, "quick", tiny)  # type: ignore[arg-type]
    into = tmp_path / "into"
    options = ["--preset", preset, "--seeds", "0", "--workers", "1", "--out", str(tmp_path / "runs"), "-q", "--json"]
    assert main(["reproduce", *NAMES, *options, "--into", str(into)]) == 0
    judged = {item["claim"] for item in json.loads(capsys.readouterr().out)["verdicts"]}
    having = [ENTRIES[name] for name in NAMES if preset in ENTRIES[name].presets]
    assert judged == {entry.name for entry in having if isinstance(entry, Claim)}
    for entry in having:
        if isinstance(entry, Figure):
            for suffix in ("png", "pdf", "csv"):
                assert (into / f"{entry.name}-{preset}.{suffix}").stat().st_size > 0
