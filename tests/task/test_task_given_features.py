"""Features that are given: the task behind the published figures, and matrices from a file."""

from __future__ import annotations

import hashlib
import math
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headwise import TaskConfig, experiment
from headwise.core.errors import ConfigError
from headwise.study.config import config_hash
from headwise.study.experiments import EXPERIMENTS
from headwise.task.chain import build_task, entropy, log_probabilities, sample
from headwise.task.config import importance
from headwise.task.given_features import FIGURES, FIGURES_DIGEST, figures_matrices

FIGURES_TASK = TaskConfig(features="figures", alpha="sum")


def test_the_stored_matrices_are_those_that_were_handed_over() -> None:
    content = resources.files("headwise.task").joinpath(FIGURES).read_bytes()
    assert hashlib.sha256(content).hexdigest() == FIGURES_DIGEST
    for matrix in figures_matrices():
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(50), atol=1e-5)


def test_the_figures_matrices_can_be_drawn_again() -> None:
    """Where the signs of the singular value decomposition agree; elsewhere torch's product is another matrix."""
    import torch

    rng = torch.Generator().manual_seed(0)
    for stored in figures_matrices():
        gaussian = torch.randn(50, 50, generator=rng)
        left, size, right = (part.double().numpy() for part in torch.linalg.svd(gaussian))
        np.testing.assert_allclose(left @ np.diag(size) @ right, gaussian.double().numpy(), atol=1e-4)
        drawn = left @ right.T
        signs = np.sign(np.einsum("ij,ij->j", left, stored @ right))
        if np.abs(drawn - stored).max() > 1e-4:
            # Column i of both factors may change its sign together: U D (D Vh)ᵀ = U D (Vhᵀ) D is another product.
            pytest.skip(f"this library chooses other signs ({int((signs < 0).sum())} of 50)")
        np.testing.assert_allclose(drawn, stored, atol=1e-5)


@pytest.mark.parametrize("groups", ["contiguous", "reversed"])
def test_the_first_drawn_belongs_to_the_group_furthest_back(groups: str) -> None:
    config = FIGURES_TASK.changed({"groups": groups})
    task = build_task(config, 3)
    order = range(3) if groups == "reversed" else reversed(range(3))
    for k, drawn in enumerate(order):
        np.testing.assert_allclose(task.features[k], importance(config)[k] * figures_matrices()[drawn])
    furthest = int(np.argmax([max(lags) for lags in task.lags]))
    np.testing.assert_allclose(task.features[furthest] / importance(config)[furthest], figures_matrices()[0])


def test_the_reversed_run_gives_the_first_drawn_the_largest_norm() -> None:
    task = build_task(experiment("reverse").task, 0)
    np.testing.assert_allclose(task.features[0], 2.5**2 * 10 * figures_matrices()[0], rtol=1e-12)


def test_seeds_share_the_figures_task_and_redraw_the_other() -> None:
    first, second = (build_task(experiment("minimal").task, seed).features for seed in (0, 1))
    np.testing.assert_array_equal(first, second)
    redrawn = [build_task(experiment("minimal", "redrawn").task, seed).features for seed in (0, 1)]
    assert np.abs(redrawn[0] - redrawn[1]).max() > 1


def test_gram_schmidt_in_the_order_drawn() -> None:
    """Against the plain algorithm, matrix by matrix."""
    expected: list[np.ndarray] = []
    for matrix in figures_matrices():
        rest = matrix.copy()
        for earlier in expected:
            rest -= (rest * earlier).sum() / (earlier * earlier).sum() * earlier
        expected.append(rest * math.sqrt(50) / np.linalg.norm(rest))
    config = FIGURES_TASK.changed({"features": "figures-frobenius"})
    task = build_task(config, 0)
    for k, unit in enumerate(reversed(expected)):
        np.testing.assert_allclose(task.features[k], importance(config)[k] * unit, atol=1e-4)


def test_the_entropy_of_the_figures_task_is_that_of_the_figures() -> None:
    """The teacher's loss behind the figures is 0.505, read by eye; drawn tasks have 0.59 with a deviation of 0.04."""
    task = build_task(experiment("minimal").task, 0)
    sequences = sample(task, 3000, np.random.default_rng(5))
    assert entropy(log_probabilities(task, sequences)).mean() == pytest.approx(0.505, abs=0.015)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_published_experiment_has_the_figures_task(name: str) -> None:
    config = experiment(name)
    assert config.preset == "published"
    assert config.task.features == ("figures-frobenius" if name == "head-dynamics" else "figures")
    assert build_task(config.task, 7).features.shape == (config.task.h, 50, 50)
    assert experiment(name, "redrawn").preset == "redrawn"


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"task.d": 8}, "task.d = 8"), ({"task.h": 4, "task.w": 8}, "task.h = 4")],
)
def test_what_the_draw_does_not_hold_is_refused(changes: dict[str, Any], words: str) -> None:
    for name in ("minimal", "head-dynamics"):
        with pytest.raises(ConfigError) as caught:
            experiment(name, changes=changes)
        assert words in str(caught.value)
        assert "--preset redrawn" in str(caught.value)
        assert "\n" not in str(caught.value)
        assert experiment(name, "redrawn", changes=changes).preset == "redrawn"


@pytest.mark.parametrize(
    "changes",
    [
        {"task.m": 1.2, "task.b0": 3.0},
        {"task.alpha": (0.7, 0.3)},
        {"task.norms": (5.0, 9.0, 2.0)},
        {"task.h": 2, "task.w": 8},
        {"task.h": 1, "task.w": 2},
        {"model.heads": 5},
        {"task.w": 9, "task.groups": ((1, 9), (2, 3), (4,)), "task.T": 4},
    ],
)
def test_anything_else_of_the_task_may_change(changes: dict[str, Any]) -> None:
    config = experiment("minimal", changes=changes)
    assert config.preset == "published"
    task = build_task(config.task, 0)
    for norm, matrix in zip(importance(config.task), task.features, strict=True):
        np.testing.assert_allclose(matrix @ matrix.T, norm**2 * np.eye(50), atol=1e-4 * norm**2)


def test_a_file_of_the_same_matrices_is_the_same_task(tmp_path: Path) -> None:
    for order in "CF":
        path = tmp_path / f"{order}.npy"
        np.save(path, np.asarray(figures_matrices(), order=order))
        config = FIGURES_TASK.changed({"features": str(path)})
        np.testing.assert_array_equal(build_task(config, 0).features, build_task(FIGURES_TASK, 1).features)


def test_the_content_of_a_file_names_a_run_and_its_place_does_not(tmp_path: Path) -> None:
    matrices = np.random.default_rng(0).standard_normal((4, 6, 6))
    np.save(tmp_path / "a.npy", matrices)
    np.save(tmp_path / "b.npy", matrices)
    np.save(tmp_path / "c.npy", matrices[::-1])
    small = {"task.d": 6, "task.T": 4}
    a, b, c = (experiment("minimal", changes={**small, "task.features": str(tmp_path / f"{x}.npy")}) for x in "abc")
    assert config_hash(a) == config_hash(b) != config_hash(c)
    assert a.preset == "redrawn"
    np.testing.assert_allclose(build_task(a.task, 0).features[2], importance(a.task)[2] * matrices[0])
    assert experiment("minimal", changes={**small, "task.features": "haar"}).task.features_digest is None
    assert a.changed({"task.features": str(tmp_path / "c.npy")}).task.features_digest == c.task.features_digest
    np.save(tmp_path / "a.npy", 2 * matrices)
    with pytest.raises(ConfigError, match="is not the file this run was made from"):
        build_task(a.task, 0)
    (tmp_path / "a.npy").unlink()
    assert type(a).model_validate(a.model_dump()) == a


def wrong_files(folder: Path) -> dict[str, str]:
    good = np.ones((3, 50, 50))
    arrays: dict[str, np.ndarray] = {
        "size": np.ones((3, 8, 8)),
        "few": np.ones((2, 50, 50)),
        "flat": np.ones((50, 50)),
        "oblong": np.ones((3, 50, 40)),
        "nan": np.where(np.arange(7500).reshape(3, 50, 50) == 5, np.nan, good),
        "zero": good * np.array([1.0, 0.0, 1.0])[:, None, None],
        "words": np.full((3, 50, 50), "a"),
        "complex": good.astype(complex),
        "objects": np.full((3, 50, 50), None),
        "none": np.ones((0, 50, 50)),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=True)
    whole = (folder / "size.npy").read_bytes()
    (folder / "cut.npy").write_bytes(whole[:-9])
    (folder / "long.npy").write_bytes(whole + b"0")
    (folder / "empty.npy").write_bytes(b"")
    (folder / "text.npy").write_text("no matrices\n")
    (folder / "header.npy").write_bytes(whole[:40] + b"(((" * 20 + whole[100:])
    (folder / "huge.npy").write_bytes(whole.replace(b"(3, 8, 8)", b"(3, 9e9, )"[:9]))
    (folder / "folder.npy").mkdir()
    return {path.stem: str(path) for path in sorted(folder.iterdir())} | {"absent": str(folder / "absent.npy")}


def test_files_that_hold_no_features_are_refused_in_one_line(tmp_path: Path) -> None:
    files = wrong_files(tmp_path)
    assert len(files) > 15
    for name, path in files.items():
        with pytest.raises(ConfigError) as caught:
            experiment("minimal", changes={"task.features": path})
        assert str(caught.value).startswith("task.features"), name
        assert "\n" not in str(caught.value), name


@pytest.mark.parametrize(("given", "words"), [("harr", "did you mean haar"), ("matrices.csv", "no .npy file")])
def test_other_names_are_refused(given: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        experiment("minimal", changes={"task.features": given})
