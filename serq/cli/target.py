"""``serq target``: the configuration of the real engine that the program describes."""

from __future__ import annotations

import json

import click

from serq.api import load
from serq.cli.options import FileCommand, file_argument, inputs_options, overrides_of
from serq.cli.output import emit, show
from serq.target import vllm_config


@click.command(cls=FileCommand)
@file_argument
@inputs_options
@click.pass_context
def command(ctx: click.Context, file: str) -> None:
    """Print vLLM's scheduler configuration for the program FILE, as JSON.

    A program that vLLM cannot run is refused, naming each construct and why (exit status 1).
    """
    loaded = load(file, overrides=overrides_of(ctx), need_horizon=False)
    if loaded.warnings:
        show(loaded.warnings)
    config = vllm_config(loaded.program, loaded.source_map)
    emit(json.dumps(config, indent=2) + "\n")
