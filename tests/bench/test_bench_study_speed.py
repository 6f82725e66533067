"""What many runs cost: arithmetic of the measured times, and a study of tiny runs by the real commands."""

from __future__ import annotations

import pytest

from headwise.bench import study_speed as module
from headwise.bench.page import _study
from headwise.bench.study_speed import Kind, study_speed


def test_parts_of_a_run_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = iter(
        [
            module._Round(single=3.0, several=5.0, alone=12.0, together=12.6, digests=("a", "a", "a")),
            module._Round(single=3.0, several=5.0, alone=12.0, together=13.2, digests=("a", "b", "a")),
        ]
    )
    monkeypatch.setattr(module, "_round", lambda name, kind: next(rounds))
    lines: list[str] = []
    found = study_speed(repeats=2, kinds={"minimal": Kind(steps=10, paper_steps=101)}, report=lines.append)["minimal"]
    assert (found["overhead"], found["start_up"], found["step"]) == (0.5, 2.5, 1.0)
    assert found["run"] == 0.5 + 100 * 1.0
    assert found["side_by_side"] == pytest.approx(1.075)
    assert found["side_by_side_spread"] == pytest.approx([1.05, 1.1])
    assert not found["same"]
    assert "DIFFERENT" in lines[0]
    assert "1.07 (1.05 to 1.10)" in _study({"study": {"minimal": found}})


@pytest.mark.slow
def test_runs_end_alike_alone_beside_another_and_in_a_sweep() -> None:
    found = study_speed(repeats=1, kinds={"minimal": Kind(steps=3, paper_steps=1000)})["minimal"]
    assert found["same"]
    assert 0 < found["overhead"] < found["first_step"]
    assert found["side_by_side"] > 0.5
