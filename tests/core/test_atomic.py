"""Files that are replaced: the old content or the new one, whatever goes wrong in between."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from headwise.core.atomic import LITTER_SECONDS, replace_file, replacing
from headwise.core.errors import ConfigError, HeadwiseError, MachineError


def test_a_file_is_replaced_with_bytes_or_text(tmp_path: Path) -> None:
    target = tmp_path / "new" / "folder" / "table.csv"
    assert replace_file(target, b"old") == 3
    assert replace_file(target, "neu, größer\n") == len("neu, größer\n".encode())
    assert target.read_bytes() == "neu, größer\n".encode()
    assert list(target.parent.iterdir()) == [target]


def test_text_without_bytes_in_utf_8_is_escaped(tmp_path: Path) -> None:
    replace_file(tmp_path / "page.html", os.fsdecode(b"run-\xff"))
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == "run-\\udcff"


def test_a_name_as_long_as_names_can_be(tmp_path: Path) -> None:
    target = tmp_path / ("x" * (os.pathconf(tmp_path, "PC_NAME_MAX") - 4) + ".csv")
    replace_file(target, "whole")
    assert target.read_text() == "whole"
    with pytest.raises(ConfigError, match=r"cannot write .*too long; choose another -o"):
        replace_file(tmp_path / ("x" * 300 + ".csv"), "whole", option="-o")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "page.html").write_text("old")
    (tmp_path / "page.html").symlink_to("there/page.html")
    replace_file(tmp_path / "page.html", "new")
    assert (tmp_path / "page.html").is_symlink()
    assert (tmp_path / "there" / "page.html").read_text() == "new"


def test_only_ordinary_files_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ConfigError, match=r"folder\.csv: is a directory; choose another path"):
        replace_file(tmp_path / "folder.csv", "new")
    with pytest.raises(ConfigError, match=r"pipe\.csv: is not an ordinary file"):
        replace_file(tmp_path / "pipe.csv", "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.csv", "pipe.csv"]


def test_a_block_that_fails_changes_nothing(tmp_path: Path) -> None:
    target = tmp_path / "curves.parquet"
    replace_file(target, "old")
    with pytest.raises(KeyError), replacing(target) as file:
        file.write({b"half": b""}[b"whole"])
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, ConfigError),
        (errno.EROFS, ConfigError),
        (errno.EIO, MachineError),
        (errno.EMFILE, MachineError),
        (errno.ENOMEM, MachineError),
    ],
)
def test_what_the_machine_refuses_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int, kind: type[HeadwiseError]
) -> None:
    target = tmp_path / "page.html"
    replace_file(target, "old")

    def refuse(*arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, refuse)
    with pytest.raises(HeadwiseError) as caught:
        replace_file(target, "new", option="-o")
    monkeypatch.undo()
    assert type(caught.value) is kind
    assert os.strerror(number).lower() in str(caught.value)
    assert str(target) in str(caught.value)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def killed(temporary: Path) -> None:
    """As a kill would, leave the file there under a name that nobody removes."""
    os.link(temporary, temporary.with_name(temporary.name.replace(".tmp", "0.tmp")))
    raise KeyboardInterrupt


def test_what_a_killed_writer_left_goes_after_a_day(tmp_path: Path) -> None:
    target, other = tmp_path / "page.html", tmp_path / "other.html"
    for path in (target, other):
        with pytest.raises(KeyboardInterrupt), replacing(path) as file:
            killed(Path(file.name))
    replace_file(target, "new")
    assert len(list(tmp_path.glob(".*.tmp"))) == 2, "both may still be written"
    for litter in tmp_path.glob(".*.tmp"):
        then = time.time() - 2 * LITTER_SECONDS
        os.utime(litter, (then, then))
    replace_file(target, "newer")
    assert len(list(tmp_path.glob(".*.tmp"))) == 1, "the litter of another file is left to its own writer"
