"""Settings for a batch system: the `[cluster]` section of a TOML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from headwise.core.config import Config, validated
from headwise.core.errors import ConfigError
from headwise.core.foreign_text import parse_toml, read_foreign


class ClusterConfig(Config):
    """Settings of Slurm jobs; one job is one worker on one core."""

    queue: Annotated[str | None, Field(description="partition")] = None
    account: Annotated[str | None, Field(description="account to charge")] = None
    time: Annotated[str, Field(description="wall time of a job; runs go on in the next one", pattern=r"^[0-9:-]+$")] = (
        "04:00:00"
    )
    memory: Annotated[str, Field(description="memory of a job", pattern=r"^[0-9]+ ?[KMGT]i?B$")] = "4GB"
    setup: Annotated[tuple[str, ...], Field(description="shell lines before a worker, such as activating a venv")] = ()
    directives: Annotated[tuple[str, ...], Field(description="further #SBATCH lines, such as --constraint=...")] = ()
    interface: Annotated[str | None, Field(description="network interface the workers reach the scheduler by")] = None
    shared: Annotated[
        str | None, Field(description="a directory every node sees, for the TLS keys; that of the logs if not given")
    ] = None
    logs: Annotated[str, Field(description="a directory every node sees, for the logs of the jobs")] = "slurm-logs"


def read_cluster(path: Path | str) -> ClusterConfig:
    """The `[cluster]` section of a TOML file."""
    try:
        content = parse_toml(read_foreign(Path(path)))
    except (OSError, ValueError) as error:
        raise ConfigError(f"--cluster {path}: {str(error).splitlines()[0]}") from None
    return validated(ClusterConfig, content.get("cluster", {}))
