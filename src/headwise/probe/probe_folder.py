"""`probe_folder`: the heads of somebody's own model over a folder of its checkpoints, as a run and a report."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.core.errors import ConfigError
from headwise.core.head_counts import counted_heads, counts_attribute, head_counts
from headwise.core.named_options import named_options
from headwise.core.plain import plain
from headwise.core.text import text_table, wrap
from headwise.measure.ablations import Cadence, ImportanceOf
from headwise.phases.detection import detect
from headwise.phases.importance_text import importance_sentences
from headwise.probe.folder import OnCorrupt, equal_checkpoints, probe_checkpoints, skipped_steps
from headwise.probe.folder_config import folder_config
from headwise.probe.probing import Induction
from headwise.probe.sequences import Kind
from headwise.probe.token_classes import Classes, read_classes
from headwise.probe.weights import Pickle
from headwise.store import load_trajectory

if TYPE_CHECKING:
    import xarray as xr

    from headwise.phases.run_report import RunReport

COLUMNS = ("block", "head", "lag", "share", "self", "previous", "first", "induction", "entropy")
"""What the text shows of each head."""


@dataclass(frozen=True, eq=False)
class ProbedFolder:
    """What a folder of checkpoints shows; `str` of this is what `headwise probe` prints."""

    run: Path
    trajectory: xr.Dataset = field(repr=False)
    skipped: dict[int, str] = field(repr=False)
    """Steps of damaged checkpoints, with the reason."""
    equal: list[list[int]] = field(repr=False)
    """Groups of steps whose checkpoints have the same weights."""
    report: RunReport = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """`run`, `checkpoints`, `skipped`, `equal`, `model`, `blocks`, `heads`, `final`, `report`: ready for JSON.

        `heads` is the most that a block has; where they differ there is `heads_by_block`.
        """
        return {
            "run": str(self.run),
            "checkpoints": [int(step) for step in self.trajectory["step"].values],
            "skipped": [{"step": step, "reason": reason} for step, reason in self.skipped.items()],
            "equal": self.equal,
            "model": self.trajectory.attrs["model"],
            "blocks": self.trajectory.sizes["block"],
            "heads": self.trajectory.sizes["head"],
            **counts_attribute(head_counts(self.trajectory)),
            "final": final_heads(self.trajectory),
            "report": self.report.to_json(),
        }

    def __str__(self) -> str:
        document = self.to_json()
        counted = f"{len(document['checkpoints'])} checkpoints, {counted_heads(head_counts(self.trajectory))}"
        lines = [document["run"], wrap(f"{document['model']}: {counted}")]
        lines += [wrap(f"skipped step {item['step']}: {item['reason']}") for item in document["skipped"]]
        lines += [wrap(f"steps {', '.join(map(str, same))} have the same weights") for same in document["equal"]]
        measured = any("importance" in head for head in document["final"])
        columns = (*COLUMNS, "importance") if measured else COLUMNS
        rows = [[_cell(head[column]) for column in columns] for head in document["final"]]
        lines += ["", "heads at the last checkpoint (lag 1 is the token itself)"]
        lines += [text_table(columns, rows, align="r" * len(columns), repeat=2), ""]
        for offshoot in document["report"]["offshoots"]:
            block = f"block {offshoot['block']} " if "block" in offshoot else ""
            move = f"leaves lags {offshoot['from']} for {offshoot['to']}"
            lines.append(wrap(f"step {offshoot['step']:g}: {block}head {offshoot['head']} {move}", hanging="  "))
        told = (*self.report.function.sentences, *importance_sentences(self.report.importance))
        lines += [wrap(sentence, hanging="  ") for sentence in told]
        lines += [wrap(f"note: {note}", hanging="  ") for note in document["report"]["agreement"]["notes"]]
        return "\n".join(lines).rstrip()


PATHS = {
    "folder": " of checkpoints; headwise.watch looks at a model itself",
    "tokens": " of ids or text, such as numpy.save makes of ids",
    "corpus": " of ids or text, such as numpy.save makes of ids",
}
"""What is more to be said where something else than a path is given."""


@named_options
def probe_folder(
    folder: Path | str,
    *,
    tokens: Path | str | None = None,
    synthetic: Kind | None = None,
    sequences: int = 16,
    length: int = 64,
    lags: int = 64,
    corpus: Path | str | None = None,
    classes: Path | str | Classes | None = None,
    examples: int = 2,
    step_pattern: str | None = None,
    revisions: str | None = None,
    build: str | None = None,
    seed: int = 0,
    induction: Induction = "on",
    importance: Cadence | None = None,
    importance_of: ImportanceOf = "heads",
    on_corrupt: OnCorrupt = "stop",
    pickle: Pickle = "refuse",
    device: str = "cpu",
    out: Path | str = "runs",
    notify: Callable[[str], None] = lambda line: None,
    stop_asked: Callable[[], bool] = lambda: False,
) -> ProbedFolder:
    """Look at every Hugging Face checkpoint of a folder (checkpoint-100, ... or one model) and keep it as a run.

    What the model is shown comes from the file `tokens` (ids as .npy or .json, text as .txt) or is drawn: `synthetic`
    is "random" (the default), "repeated" (a random half twice) or "markov" (few successors for each token). `lags` is
    how far back attention is kept. `corpus` is another such file, on which n-gram predictors are counted for the
    model's distance to each. `classes` is a JSON file of token ids by name, such as {"newline": [10]}, or such a
    mapping: each is a role of its own. Of the first `examples` sequences the attention maps of up to twelve checkpoints
    are kept for the page, with their tokens where a checkpoint has a tokenizer.json. `importance` also measures how the
    loss rises without each head, at every so many checkpoints and at the last one, or at the "last" alone;
    `importance_of` "pairs" also without any two heads of a block.

    The step of a checkpoint is read from its name (checkpoint-100, step1000, epoch=0-step=500, 1000) or by the regular
    expression `step_pattern`. With `build`, "module:function", the folder holds files of torch (.pt, .pth, .ckpt), read
    without their code, of which the function makes the model. `hf:ORG/MODEL` as the folder, with `revisions` such as
    "step*", downloads these one at a time and removes each again; nothing else is ever downloaded. The same call again
    reads what is there and adds checkpoints that are new.

    >>> import tempfile
    >>> from headwise import probe_folder
    >>> from transformers import GPT2Config, GPT2LMHeadModel
    >>> tiny = GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=20, n_positions=16, bos_token_id=0, eos_token_id=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     GPT2LMHeadModel(tiny).save_pretrained(f"{folder}/checkpoint-5")
    ...     found = probe_folder(folder, sequences=2, length=8, out=f"{folder}/runs")
    >>> found.trajectory.sizes["head"], found.to_json()["checkpoints"]
    (2, [5])
    """
    if tokens is not None and synthetic is not None:
        raise ConfigError("--tokens and --synthetic exclude each other; give one")
    for name, given in (("folder", folder), ("tokens", tokens), ("corpus", corpus), ("out", out)):
        if given is not None and not isinstance(given, str | os.PathLike):
            raise ConfigError(f"{name} is a {type(given).__name__}; give a path{PATHS.get(name, '')}")
    folder, out = Path(folder), Path(out)
    shown: Path | Kind = Path(tokens) if tokens is not None else synthetic or "random"
    counted = None if corpus is None else Path(corpus)
    named = None if classes is None else read_classes(classes)
    config = folder_config(
        folder,
        tokens=shown,
        sequences=sequences,
        length=length,
        lags=lags,
        induction=induction,
        corpus=counted,
        classes=named,
        examples=examples,
        step_pattern=step_pattern,
        build=build,
        importance=importance,
        importance_of=importance_of,
        seed=seed,
    )
    run = probe_checkpoints(
        folder,
        config,
        tokens=shown,
        corpus=counted,
        classes=named,
        revisions=revisions,
        out=out,
        on_corrupt=on_corrupt,
        pickle=pickle,
        device=device,
        notify=notify,
        stop_asked=stop_asked,
    )
    trajectory = load_trajectory(run.path)
    report = detect(trajectory, groups="found")
    return ProbedFolder(run.path, trajectory, skipped_steps(run), equal_checkpoints(run), report)


def final_heads(trajectory: xr.Dataset) -> list[dict[str, Any]]:
    """Each head at the last checkpoint: its strongest lag, named places, entropy; None where nothing is finite."""
    last = trajectory.isel(step=-1)
    heads = []
    for block, count in zip(last["block"].values, head_counts(trajectory), strict=True):
        for head in last["head"].values[:count]:
            one = last.sel(block=block, head=head)
            shares = one["attention_by_lag"].fillna(0.0)
            best = int(shares.values.argmax())
            heads.append(
                {
                    "block": int(block),
                    "head": int(head),
                    "lag": int(shares["lag"][best]),
                    "share": plain(shares.values[best]),
                    "entropy": plain(one["attention_entropy"].values),
                    **{str(p): plain(one["attention_on"].sel(place=p).values) for p in one["place"].values},
                    **({"importance": plain(one["head_importance"].values)} if "head_importance" in one else {}),
                }
            )
    return heads


def _cell(value: float | int | None) -> str:
    return "-" if value is None else str(value) if isinstance(value, int) else f"{value:.3f}"
