"""coordinates.json and config.json: which run a directory holds, and whether that is the one its name says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from headwise.core.errors import ConfigError, CorruptData
from headwise.core.system_errors import exists
from headwise.store.checkpoints import OnDamage
from headwise.store.documents import parse_object
from headwise.store.files import read_verified, remove, verified, write_once
from headwise.store.format_1 import identity_in_format_1, named_by_content
from headwise.store.header import BY_CONTENT, RunHeader, decode_header, same_to_rounding
from headwise.store.identity import RunIdentity
from headwise.store.output_root import require_fitting_name
from headwise.store.segments import UNREADABLE


class Beginning:
    """The two files that are written before all others."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.header_path = directory / "coordinates.json"
        self.config_path = directory / "config.json"

    def header(self) -> RunHeader:
        """What coordinates.json holds; `CorruptData` also when the directory's name is that of another run."""
        header = self.header_of_any_name()
        if header.identity is not None or exists(self.config_path):
            self.require_name(header, self.identity(header))
        return header

    def require_name(self, header: RunHeader, stored: RunIdentity) -> None:
        """`CorruptData` when the directory's name is that of another run."""
        hashed = header.name == BY_CONTENT if header.format > 1 else named_by_content(stored.content)
        source = self.says_which(header.format).name
        require_fitting_name(self.directory, stored, hashed=hashed, source=source)

    def says_which(self, version: int) -> Path:
        """The file that says which run this is."""
        return self.header_path if version > 1 else self.config_path

    def header_of_any_name(self) -> RunHeader:
        """What coordinates.json holds, whatever the directory is called."""
        path = self.header_path
        content = parse_object(path, verified(path))
        try:
            return decode_header(content)
        except ConfigError as error:
            raise ConfigError(f"{path} cannot be read: {error}") from None
        except UNREADABLE as error:
            raise CorruptData(f"{path} is damaged: {error}") from error

    def config(self, header: RunHeader) -> dict[str, Any]:
        """What config.json holds."""
        file = verified(self.config_path)
        if header.config_sha256 is not None and file.sha256 != header.config_sha256:
            raise CorruptData(f"{self.config_path} is not the one that the run was begun with: its digest is another")
        return parse_object(self.config_path, file)

    def identity(self, header: RunHeader) -> RunIdentity:
        """What the results of the run depend on, and its seed, in either format."""
        if header.identity is not None:
            return header.identity
        try:
            return identity_in_format_1(self.config(header), header.attributes)
        except (*UNREADABLE, AttributeError) as error:
            raise CorruptData(f"{self.config_path} is damaged: {error!r} in it") from error

    def settle(self, header: RunHeader, config: bytes, *, records: bool, on_damage: OnDamage) -> None:
        """Write both files, or see that they are there with this content; with `records` they must be there."""
        wanted = {self.header_path: header.encode(), self.config_path: config}
        sound: dict[Path, bytes] = {}
        damage: CorruptData | None = None
        for path in wanted:
            try:
                if exists(path) or records:
                    sound[path] = read_verified(path)
            except CorruptData as error:
                damage = damage or error
        if damage is not None:
            if on_damage == "refuse":
                raise CorruptData(f"{damage}; --recover writes it anew") from damage
            if self.header_path in sound:
                # Where the config is lost, so is where arithmetic ran, which its digest depends on.
                kept = replace(self.header_of_any_name(), config_sha256=header.config_sha256)
                sound[self.header_path] = kept.encode()
        stored = sound.get(self.header_path)
        if stored is not None and same_to_rounding(stored, wanted[self.header_path]):
            wanted[self.header_path] = stored
        for path, content in sound.items():
            if content != wanted[path]:
                raise ConfigError(f"{path} belongs to another configuration; choose another --out")
        if damage is not None:
            remove(self.config_path)
            remove(self.header_path)
        for path, content in wanted.items():
            write_once(path, content)
