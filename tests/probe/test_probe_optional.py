"""Without transformers: everything else works, and what needs it says which extra brings it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("transformers", "accelerate", "transformer_lens"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, check=False)


def test_torch_modules_are_watched_without_transformers() -> None:
    answer = run(
        "import headwise, torch\n"
        "from headwise.probe import watch\n"
        "module = torch.nn.MultiheadAttention(8, 2, batch_first=True)\n"
        "with watch(module, tokens=torch.randn(2, 5, 8)) as w: pass\n"
        "print(w.seen)\n"
        "try: w.callback()\n"
        "except Exception as error: print(error)\n"
    )
    assert answer.returncode == 0, answer.stderr
    assert "1 layer of 2 heads" in answer.stdout
    assert "pip install 'headwise[probe]'" in answer.stdout


def test_the_command_names_the_extra(tmp_path: Path) -> None:
    (tmp_path / "checkpoint-1").mkdir()
    (tmp_path / "checkpoint-1/model.safetensors").touch()
    arguments = ["probe", str(tmp_path), "--out", str(tmp_path / "runs")]
    answer = run(f"from headwise.cli.main import main\nsys.exit(main({arguments!r}))")
    assert answer.returncode == 2
    assert "pip install 'headwise[probe]'" in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1
    assert run("from headwise.cli.main import main\nsys.exit(main(['list']))").returncode == 0


def test_every_other_command_works_without_transformers(tmp_path: Path) -> None:
    """One process: a run is trained, read, judged and put on a page while no optional library can be imported."""
    keys = {"task.d": 6, "task.T": 5, "task.w": 6, "model.width": 12, "train.batch": 20, "train.samples": 60,
            "train.steps": 12, "measure.test_samples": 30, "measure.at.every": 3}  # fmt: skip
    train = ["train", "minimal", "--preset", "redrawn", "--out", str(tmp_path), "-q"]
    train += [part for key, value in keys.items() for part in (f"--{key}", str(value))]
    answer = run(
        "from pathlib import Path\n"
        "from headwise.cli.main import main\n"
        f"codes = [main({train!r})]\n"
        f"run = str(next(Path({str(tmp_path)!r}).glob('minimal/*-s0')))\n"
        f"page = {str(tmp_path / 'page.html')!r}\n"
        "for words in (['show', run], ['phases', run], ['report', run, '-o', page], ['reproduce', '--run', run],\n"
        "              ['reproduce', '--list'], ['check', '--list'], ['list'], ['probe', '--help'],\n"
        "              ['sweep', 'minimal', '--over', 'task.m=1,1.5', '--seeds', '0', '--dry-run']):\n"
        "    try: codes.append(main(words))\n"
        "    except SystemExit as end: codes.append(end.code)\n"
        "print('codes', codes, sorted({'transformers', 'accelerate', 'transformer_lens'} & set(sys.modules)))\n"
    )
    assert answer.returncode == 0, answer.stderr
    assert f"codes {[0] * 10} []" in answer.stdout, answer.stdout[-500:] + answer.stderr
