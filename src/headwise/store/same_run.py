"""Whether a directory holds the run that was asked for: what results depend on and the seed, compared themselves."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from headwise.core.errors import CorruptData
from headwise.core.system_errors import exists
from headwise.store.checkpoints import OnDamage
from headwise.store.documents import read_object
from headwise.store.files import read_verified, recorded_digest
from headwise.store.format_1 import identity_in_format_1
from headwise.store.header import FORMAT
from headwise.store.identity import RunIdentity, shown
from headwise.store.segments import UNREADABLE
from headwise.store.tensors import decode_tensors

if TYPE_CHECKING:
    from headwise.store.run_directory import RunDirectory


def require_same(
    run: RunDirectory, asked: RunIdentity, *, on_damage: OnDamage, config_sha256: AbstractSet[str]
) -> int | None:
    """The format of the run that is here, once it is the one asked for; `None` where no run is yet.

    `CorruptData` names what differs, or the damage that hides it. With `recover`, files that are left may show whose
    they are; files of another run are never taken over, whatever was asked.
    """
    if not run.is_begun():
        return None
    try:
        header = run.beginning.header_of_any_name()
    except CorruptData as error:
        if on_damage == "refuse":
            raise CorruptData(f"{error}; --recover writes it anew") from error
        return _format_by_files(run, asked, config_sha256=config_sha256)
    if header.format == 1 and not exists(run.config_path) and not run.has_records():
        return 1
    try:
        stored = run.beginning.identity(header)
    except CorruptData as error:
        if not recorded_for_config(run) & config_sha256:
            raise _nothing_tells(run, error) from error
        if on_damage == "refuse":
            raise CorruptData(f"{error}; --recover writes it anew") from error
        return header.format
    _require_equal(run, stored, asked, version=header.format)
    return header.format


def _format_by_files(run: RunDirectory, asked: RunIdentity, *, config_sha256: AbstractSet[str]) -> int:
    """The format of a run whose coordinates.json is lost, by the other files; those of format 1 do not say whose."""
    found = set(_identities(run))
    if found - {asked.digest, None}:
        raise CorruptData(f"{run.path} holds files of another run; move it away or choose another --out")
    if asked.digest in found or not found:
        return FORMAT
    try:
        stored = identity_in_format_1(read_object(run.config_path), {"seed": asked.seed})
    except (CorruptData, *UNREADABLE) as error:
        if not recorded_for_config(run) & config_sha256:
            raise _nothing_tells(run, error) from error
        return 1
    _require_equal(run, stored, asked, version=1)
    return 1


def recorded_for_config(run: RunDirectory) -> set[str]:
    """The digests of the config.json that a run was begun with, where sidecar or manifest still say them."""
    found = set()
    with suppress(CorruptData):
        found.add(recorded_digest(run.config_path))
    with suppress(CorruptData, *UNREADABLE):
        found.add(str(read_object(run.manifest_path)["files"][run.config_path.name]["sha256"]))
    return found


def _require_equal(run: RunDirectory, stored: RunIdentity, asked: RunIdentity, *, version: int) -> None:
    if differences := stored.differences(asked.as_kept(version)):
        raise CorruptData(
            f"{run.path} holds another run than the one asked for ({shown(differences)}, says "
            f"{run.beginning.says_which(version).name}); move it away or choose another --out"
        )


def _nothing_tells(run: RunDirectory, error: Exception) -> CorruptData:
    return CorruptData(
        f"{error}, and nothing else in this run says what its settings were; move {run.path} away to begin anew"
    )


def _identities(run: RunDirectory) -> Iterator[Any]:
    """What each segment and checkpoint that can be read carries."""
    for chain in (run.metrics, run.snapshots):
        for end in chain.ends():
            try:
                yield chain.codec.decode(read_verified(chain.path(end)))[1].get("identity")
            except (CorruptData, *UNREADABLE):
                continue
    for step in run.checkpoints.steps():
        try:
            yield decode_tensors(read_verified(run.checkpoints.path(step)))[1].get("identity")
        except (CorruptData, *UNREADABLE):
            continue
