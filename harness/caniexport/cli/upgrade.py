"""``caniexport upgrade``: what breaks between two points and which workarounds to remove, or how far one can go."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from caniexport.cli.options import (
    add_note,
    answer_options,
    install_options,
    names_option,
    open_dataset,
    print_answer,
    read_install,
)

if TYPE_CHECKING:
    from caniexport.answers.model_file import ModelFile
    from caniexport.locks import LockedInstall
    from caniexport.store import Dataset


@click.command("upgrade")
@click.option("--from", "before", metavar="POINT", help="1.13.1; torch=1.13.1,opset=17,exporter=dynamo,ort=1.20.")
@click.option("--to", "after", metavar="POINT", help="As --from. Without it: how far can I go?")
@click.option("--to-lock", type=click.Path(path_type=Path), metavar="FILE", help="--to what this lock file installs.")
@install_options("Where you are")
@click.option(
    "--model", type=click.Path(path_type=Path), metavar="FILE", help="An ONNX file: what is known to touch it."
)
@click.option("--models", is_flag=True, help="Of whole models in place of documented failures.")
@click.option(
    "--like", default="", metavar="MODEL", help="What a measured model has: transformers-bert, timm-resnet10t."
)
@names_option("--op", "ops", "Operators that you use: cross,GridSample.")
@names_option("--theme", "themes", "Families of operators: pooling.")
@names_option("--case", "cases", "Cases; globs work.")
@answer_options
def command(
    before: str | None,
    after: str | None,
    to_lock: Path | None,
    lock: Path | None,
    here: bool,
    model: Path | None,
    models: bool,
    like: str,
    ops: tuple[str, ...],
    themes: tuple[str, ...],
    cases: tuple[str, ...],
    whole: bool,
    as_json: bool,
) -> None:
    """Say how to call the newer release, what breaks there, and which workarounds to remove, add and keep.

    Exit code 1 where something that worked breaks, or too little was measured to know. With --to-lock the call is the
    one of today: what breaks is what breaks where only the packages change.
    """
    from caniexport.answers.model import answer_model_upgrade
    from caniexport.answers.models import read_model_ops
    from caniexport.answers.point import parse_point
    from caniexport.answers.scope import find_scope
    from caniexport.answers.upgrade import answer_ladder, answer_upgrade
    from caniexport.locks import read_lock
    from caniexport.model.architectures import MODELS
    from caniexport.store.views import Views

    dataset = open_dataset()
    dataset = dataset.of_corpus(MODELS) if models else dataset
    file = _file(model, dataset)
    left = parse_point(before or "")
    installed = read_install(lock, here, [*filter(None, [left.get("torch")])])
    left = {**(installed.packages if installed else {}), **left}
    left = {**_setting({**(file.point if file else {}), **left}), **left}
    right = parse_point(after or "")
    target = read_lock(to_lock, right.get("torch", "")) if to_lock else None
    right = {**(target.packages if target else {}), **right}
    for install in filter(None, (installed, target)):
        _say_read(install)
    if "torch" not in {**(file.point if file else {}), **left}:
        raise click.UsageError(
            "Missing option '--from' (the release that you use: --from 1.13.1, --here or --lock FILE)"
        )
    if like:
        found, where = read_model_ops(dataset, like)
        ops = (*ops, *found)
        add_note(where)
    asked = find_scope(Views.of(dataset), cases, themes, ops)
    if file is not None:
        answer = answer_model_upgrade(dataset, file, left, right)
    else:
        # a lock file says nothing of the call, which then stays as it is
        answer = (
            answer_upgrade(dataset, left, right, asked, same_call=target is not None)
            if right
            else answer_ladder(dataset, left, asked)
        )
    print_answer(answer, whole=whole, as_json=as_json)


def _say_read(install: LockedInstall) -> None:
    add_note(f"read: {install.text}")
    for note in install.notes:
        add_note(note)


def _file(path: Path | None, dataset: Dataset) -> ModelFile | None:
    from caniexport.answers.model_file import read_model
    from caniexport.answers.point import Points

    if path is None:
        return None
    if path.suffix == ".py" or ":" in path.name:
        raise click.UsageError(f"--model {path}: an ONNX file is wanted (`caniexport check` takes a module's code)")
    if not path.is_file():
        raise click.UsageError(f"--model {path}: there is no such file")
    return read_model(path, Points(dataset).releases)


def _setting(point: dict[str, str]) -> dict[str, str]:
    """What the project's settings say of where it is, as far as nothing else does."""
    from caniexport.settings import read_settings

    own = read_settings(Path.cwd())
    used = [key for key in ("torch", "opset", "exporter", "runtime") if getattr(own, key) and key not in point]
    if used:
        add_note(own.describe(*used))
    return {key: getattr(own, key) for key in used}
