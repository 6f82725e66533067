"""`headwise export`: a run in another program's form."""

from __future__ import annotations

import argparse

from headwise.cli.command import Command, print_result, refuse_extra
from headwise.cli.options import add_json, path_argument

TO = ("trackio", "wandb", "tensorboard", "mlflow", "netcdf", "zarr", "parquet")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run", type=path_argument, metavar="RUN", help="a run directory, a pattern that fits one, a netCDF or Zarr file"
    )
    parser.add_argument("--to", required=True, choices=TO, help="where the numbers go: a tracker or a file")
    parser.add_argument(
        "-o", "--output", type=path_argument, metavar="PATH", help="the file, or the folder of a tracker"
    )
    parser.add_argument("--project", default="headwise", metavar="NAME", help="project at the tracker")
    add_json(parser, "what was written")
    parser.epilog = (
        "Trackers stay on this machine unless they are configured otherwise: wandb is offline without WANDB_MODE, "
        "MLflow writes files without MLFLOW_TRACKING_URI.\n\nexamples:\n"
        "  headwise export runs/minimal/*-s0 --to netcdf -o run.nc\n"
        "  headwise export runs/minimal/*-s0 --to tensorboard -o logs\n"
    )


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    from headwise.track.exporting import export

    print_result(export(arguments.run, arguments.to, output=arguments.output, project=arguments.project), arguments)
    return 0


COMMAND = Command("export", "write a run as netCDF, Zarr or Parquet, or send it to a tracker", add, run, ("export",))
