"""``caniexport upgrade``: from one point to another."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from caniexport.answers.filters import read_filters
from caniexport.cli import output
from caniexport.cli.options import filter_options, install_options, json_option, open_dataset, read_install, tell
from caniexport.names import plural

if TYPE_CHECKING:
    from caniexport.answers.filters import Filters
    from caniexport.answers.model_file import ModelFile
    from caniexport.answers.plan import Plan
    from caniexport.answers.targets import UpgradeTarget
    from caniexport.answers.touching import ModelStanding, Touch
    from caniexport.answers.upgrade import ChangeGroup, FixChange, Upgrade, WayChanges
    from caniexport.cli.output import Console
    from caniexport.locks import LockedInstall
    from caniexport.store import Dataset

_SHOWN = 12
#: the same of a way that is not the first
_FEWER = 4
#: places where something breaks that a plan tells, and cases of each
_PLACES, _NAMED = 12, 4
_NOTHING = "No case of the corpus is about what is listed: nothing is known of what changes."


@click.command("upgrade")
@click.option("--from", "before", metavar="POINT", help="torch=1.13.1,opset=17; exporter=, ort=1.20, provider=.")
@click.option("--to", "after", metavar="POINT", help="What is left out is that release's own default.")
@click.option("--to-lock", type=click.Path(path_type=Path), metavar="FILE", help="--to what this lock file installs.")
@install_options("Where you are")
@click.option(
    "--ops", "op_list", type=click.Path(path_type=Path), help="A file with operators, one a line; or cross,lstm."
)
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    help="An exported ONNX file: what is known to touch it; --from is then where it comes from.",
)
@click.option("--cases", "case_list", type=click.Path(path_type=Path), help="A TOML file: cases, ops, themes = [...].")
@click.option(
    "--plan", is_flag=True, help="Propose the newest target where nothing breaks, and the fewest fixes for --to."
)
@click.option(
    "--measure",
    "factory",
    metavar="MODULE:FACTORY",
    help="Measure this model at the targets (`caniexport check`); takes minutes a release.",
)
@filter_options("upgrade")
@json_option
def command(
    before: str | None,
    after: str | None,
    to_lock: Path | None,
    lock: Path | None,
    here: bool,
    op_list: Path | None,
    model: Path | None,
    case_list: Path | None,
    plan: bool,
    factory: str | None,
    as_json: bool,
    **given: tuple[str, ...],
) -> None:
    """Say what breaks, what is fixed, which workaround may go or must come, and which axis did it.

    The first line is the decision. Exit code 1 where something that worked does not work afterwards, as it is or with a
    workaround that no other replaces, torch's own calls of an operator that is named among it, or no case that was
    measured is about an operator that is named; of a model, where it is not known that it does: a known failure touches
    it or may, nothing was measured there, its values may be wrong, it has an operator that no measured graph has, or
    another exporter wrote its file.
    """
    from caniexport.answers.calls_between import BETWEEN
    from caniexport.answers.points import parse
    from caniexport.answers.wanted import read_ops, wanted

    to = None if after is None else parse(after)
    if to is None and to_lock is None and not plan:
        raise click.UsageError("Missing option '--to' (or --plan, which proposes one)")
    there = _target_install(to_lock, to or {})
    target = to if there is None else {**there.point, **(to or {})}
    dataset = open_dataset()
    file = _file(model, dataset)
    asked = wanted(dataset, read_filters("upgrade", given), op_list, case_list)
    installed = read_install(lock, here, [*filter(None, [parse(before or "").get("torch")])])
    point = {**(file.point if file else {}), **(installed.point if installed else {}), **parse(before or "")}
    point = {**_setting(point), **point}
    if before is None and "torch" not in point:
        said = " (the file names no torch release that was measured)" if file else ""
        raise click.UsageError(f"Missing option '--from'{said}")
    if asked.nothing:
        lines = [*_calls_there(dataset, asked.uncovered, [point, target or {}]), *asked.notes, _NOTHING]
        output.report({"notes": lines[:-1]}, lines, as_json)
        click.get_current_context().exit(1)
    found = _answer(dataset, point, target, asked.filters, file, plan=plan)
    told = [line for one in (installed, there) if one for line in (f"read: {one.text}", *one.notes)]
    found = replace(found, notes=(*(file.notes if file else ()), *told, *asked.notes, *found.notes))
    if factory is not None:
        from caniexport.cli.upgrade_measured import measured

        found = measured(found, factory, dataset)
    # a model that was measured is the answer: the whole corpus, which nobody asked about, is counted only
    is_narrow = asked.filters.any or file is not None or factory is None
    lead = _uncovered(dataset, asked.uncovered, found) if asked.uncovered and not as_json else ""
    named = [*given["op"], *(read_ops(op_list) if op_list else ())]
    between = _between(dataset, [op for op in named if op not in asked.uncovered], asked.uncovered, found)
    found = replace(found, notes=(*filter(None, [between]), *found.notes))
    lead = " ".join(filter(None, (lead, between and f"{between} {BETWEEN}")))
    drawn = partial(show if is_narrow else show_measured, lead=lead, told=(*asked.notes, between))
    output.answer(found, drawn, as_json)
    if found.breaks or asked.uncovered or _loses_calls(dataset, named, found):
        click.get_current_context().exit(1)


def _uncovered(dataset: Dataset, names: Sequence[str], found: Upgrade | Plan) -> str:
    """What is known of the operators that no case is about: at the target's release, of a plan at the newest."""
    from caniexport.answers.operator_at import tell_uncovered
    from caniexport.answers.select import load
    from caniexport.answers.torch_operators import operators_beside
    from caniexport.answers.upgrade import Upgrade

    torch = found.after.torch if isinstance(found, Upgrade) else load(dataset).torch[-1]
    return tell_uncovered(operators_beside(dataset), names, torch, "Of the rest:")


def _between(dataset: Dataset, ops: Sequence[str], uncovered: Sequence[str], found: Upgrade | Plan) -> str:
    """How torch's own calls of the operators that are named end at both points, where they do not pass; of those that
    no case is about, whose plain calls are told elsewhere, the other forms and dtypes.
    """
    from caniexport.answers.calls_between import places_of, tell_between
    from caniexport.answers.operator_forms import tell_lost
    from caniexport.answers.torch_operators import operators_beside
    from caniexport.answers.upgrade import Upgrade

    if not isinstance(found, Upgrade):
        return ""
    summary, places = operators_beside(dataset), places_of(found)
    return " ".join(filter(None, (tell_between(summary, ops, places), *tell_lost(summary, uncovered, places))))


def _loses_calls(dataset: Dataset, ops: Sequence[str], found: Upgrade | Plan) -> bool:
    """Whether all of torch's own calls of an operator that is named pass before an upgrade, and not behind it."""
    from caniexport.answers.calls_between import loses_calls, places_of
    from caniexport.answers.torch_operators import operators_beside
    from caniexport.answers.upgrade import Upgrade

    return isinstance(found, Upgrade) and loses_calls(operators_beside(dataset), ops, places_of(found))


def _calls_there(dataset: Dataset, ops: Sequence[str], points: Sequence[Mapping[str, str]]) -> list[str]:
    """How torch's own calls of operators that no case is about end at these points, the newest release without one."""
    from caniexport.answers.operator_at import tell_meant
    from caniexport.answers.points import Places
    from caniexport.answers.select import load
    from caniexport.answers.torch_operators import operators_beside

    places = Places(load(dataset))
    releases = dict.fromkeys(places.fill(point).torch for point in points)
    summary = operators_beside(dataset)
    told = [tell_meant(summary, op, torch) for op in ops for torch in releases] if summary else []
    return [*dict.fromkeys(filter(None, told))]


def _target_install(lock: Path | None, named: Mapping[str, str]) -> LockedInstall | None:
    """What the lock file of the target installs; a release of torch that is ``named`` stands for the version there."""
    from caniexport.locks import read_lock

    return None if lock is None else read_lock(lock, named.get("torch", ""))


def _file(path: Path | None, dataset: Dataset) -> ModelFile | None:
    from caniexport.answers.model_file import read_model
    from caniexport.answers.select import load

    if path is None:
        return None
    if path.suffix == ".py" or ":" in path.name:
        raise click.UsageError(f"--model {path}: an exported ONNX file is wanted; --measure {path} measures a module")
    if not path.is_file():
        raise click.UsageError(f"--model {path}: there is no such file")
    return read_model(path, load(dataset).torch)


def _setting(point: Mapping[str, str]) -> dict[str, str]:
    """What the project's settings say of where it is, as far as nothing else does."""
    from caniexport.settings import read_settings

    own = read_settings(Path.cwd())
    used = [key for key in ("torch", "opset", "exporter", "runtime") if getattr(own, key) and key not in point]
    if used:
        tell(own.told(*used))
    return {key: getattr(own, key) for key in used}


def _answer(
    dataset: Dataset,
    before: Mapping[str, str],
    after: Mapping[str, str] | None,
    filters: Filters,
    file: ModelFile | None,
    *,
    plan: bool,
) -> Upgrade | Plan:
    from caniexport.answers.plan import plan as make_plan
    from caniexport.answers.upgrade import upgrade

    if plan:
        return make_plan(dataset, before, after, filters, file)
    return upgrade(dataset, before, after or {}, filters, file)


def show(found: Upgrade | Plan, console: Console, lead: str = "", told: Sequence[str] = ()) -> None:
    """Print what an upgrade changes, or a plan for one: the decision first, before it ``lead``, which says what the
    notes do that are ``told``.
    """
    from caniexport.answers.plan import Plan

    _decision(found, lead, console)
    if isinstance(found, Plan):
        _plan(found, console)
    else:
        _changes(found, console)
    _notes(found, told, console)


def show_measured(found: Upgrade | Plan, console: Console, lead: str = "", told: Sequence[str] = ()) -> None:
    """Print what came of a model that was measured, and of the corpus the counts alone."""
    from caniexport.answers.plan import Plan

    if isinstance(found, Plan):
        show(found, console, lead, told)
        return
    _decision(found, lead, console)
    _points(found, console)
    console.print(f"\nOf all {sum(found.counts.values())} cases of the corpus: {_counts(found)}", soft_wrap=True)
    console.print("- those about the model's operators: --op grid_sample --op lstm, or --model with an exported file")
    _notes(found, told, console)


def _notes(found: Upgrade | Plan, told: Sequence[str], console: Console) -> None:
    for note in found.notes:
        if note not in told:
            console.print(f"- {note}", soft_wrap=True)


def _decision(found: Upgrade | Plan, lead: str, console: Console) -> None:
    from caniexport.answers.decision import decide, decide_plan
    from caniexport.answers.plan import Plan

    decided = decide_plan(found) if isinstance(found, Plan) else decide(found)
    console.print(" ".join(filter(None, (lead, decided))), style="bold", soft_wrap=True)
    console.print()


def _points(found: Upgrade, console: Console, *, has_ways: bool = False) -> None:
    """The two points; of several ways of calling the second each is told where it begins (``has_ways``)."""
    console.print(f"{'From ' if has_ways else ''}{found.before.text}", soft_wrap=True)
    if not has_ways:
        console.print(f"→ {found.after.text}", soft_wrap=True)
    for target in filter(None, (found.target, found.kept)):
        if target.model is not None:
            _model(target, target.model, console)


def _counts(found: WayChanges) -> str:
    nothing = "Nothing of what was measured changes."
    return ", ".join(f"{count} {word}" for word, count in found.counts.items()) or nothing


def _changes(found: Upgrade, console: Console) -> None:
    from caniexport.answers.decision import NEITHER, call_way, order_ways

    ways = order_ways(found)
    _points(found, console, has_ways=len(ways) > 1)
    for way in ways:
        if len(ways) > 1:
            console.print(f"\nTo {call_way(found, way)}:", style="bold", soft_wrap=True)
            console.print(f"→ {way.place.text}", soft_wrap=True)
        _way(way, found.changes_by(way), console, _SHOWN if way is ways[0] else _FEWER)
    _named(f"Not measured at torch {found.before.torch} as called today", found.unmeasured_before, console)
    if any(way.fail for way in ways):
        console.print(f"\n- {NEITHER}", soft_wrap=True)


def _way(way: UpgradeTarget, changes: WayChanges, console: Console, most: int) -> None:
    """What changes by one way of calling the release; of each list ``most`` at once."""
    for group in changes.groups:
        _group(group, console, most)
    _named("Stop with an error at both points", way.stopping, console)
    _named("Give wrong values at both points", way.wrong, console)
    _fixes("Workarounds that may go", changes.drop, console, most)
    _fixes("Workarounds to add: what they fix breaks on the way", changes.add, console, most)
    _fixes("Workarounds that stop working, and what they fix fails there still", changes.lost, console, most)
    _fixes("Workarounds still needed", changes.keep, console, most)
    _named("Works there, and onnx's checker refuses the file", changes.refused, console)
    _named("Not the same every time at one of the two points", changes.unstable, console)
    _named("Not measured there", way.unmeasured, console)
    if changes.counts or way.clean or way.model is None:
        console.print(f"\n{_counts(changes)}")


def _model(target: UpgradeTarget, found: ModelStanding, console: Console) -> None:
    """What is known of the model at one target."""
    from caniexport.answers.decision import called

    console.print(f"\n{called(target)}: {found.told}", style="bold", soft_wrap=True)
    for name, status in found.equal.items():
        console.print(f"  {name} has the same graph: {status.value}", soft_wrap=True)
    _touches("touches", found.touches, console)
    _touches("may touch", found.may_touch, console)
    _touches("may be in it", found.may_be_wrong, console)
    if found.common:
        console.print(
            f"  not counted, {found.common}: failures whose pattern is in many graphs that work there", soft_wrap=True
        )


def _touches(word: str, touches: Sequence[Touch], console: Console) -> None:
    for touch in touches[:_SHOWN]:
        beside = f"; of {touch.beside} other cases with this pattern {touch.failing} fail" if touch.beside else ""
        console.print(f"  {word}: {touch.case}/{touch.variant}: {touch.status.value}{beside}", soft_wrap=True)
        console.print(f"      {touch.title}", soft_wrap=True)
    if len(touches) > _SHOWN:
        console.print(f"  and {len(touches) - _SHOWN} more (--json has all)")


def _named(lead: str, cases: Sequence[str], console: Console) -> None:
    if cases:
        console.print(f"\n{lead}: {_some(cases)}", soft_wrap=True)


def _group(group: ChangeGroup, console: Console, most: int) -> None:
    from caniexport.answers.upgrade import ORDER
    from caniexport.corpus.verdicts import REGRESSIONS, Verdict

    bad = group.verdict in REGRESSIONS or group.verdict is Verdict.WITHDRAWN
    good = ORDER.index(group.verdict) >= ORDER.index(Verdict.FIXED)
    style = "red" if bad else "green" if good else "yellow"
    console.print()
    console.print(f"{group.verdict.value}: {len(group.changes)}", style=f"bold {style}")
    if group.message:
        console.print(textwrap.indent(textwrap.shorten(group.cause, 200), "    "), soft_wrap=True)
    for change in group.changes[:most]:
        by = f"  [{change.blamed}]" if change.axes else ""
        console.print(f"  {change.name}: {_word(change.before)} → {_word(change.after)}{by}", soft_wrap=True)
        if change.told:
            console.print(f"      {change.told}", soft_wrap=True)
        if change.fixes:
            console.print(f"      works there: {', '.join(change.told_fixes)}", soft_wrap=True)
        if change.named_so:
            console.print(f"      works there called with {change.named_so}", soft_wrap=True)
    if len(group.changes) > most:
        console.print(f"  and {len(group.changes) - most} more (--json has all)")


def _word(status: object) -> str:
    return getattr(status, "value", None) or "not measured"


def _fixes(title: str, found: Sequence[FixChange], console: Console, most: int) -> None:
    """Workarounds by case: where a case has several, any of them is one."""
    if not found:
        return
    by_case = [(case, list(items)) for case, items in itertools.groupby(found, key=lambda item: item.case)]
    console.print()
    console.print(f"{title}: {plural(len(by_case), 'case')}", style="bold")
    for case, items in by_case[:most]:
        for place, item in enumerate(items):
            lead = f"  {case}/" if place == 0 else "    or "
            console.print(f"{lead}{item.variant} ({item.kind}): {item.note}", soft_wrap=True)
    if len(by_case) > most:
        console.print(f"  and {len(by_case) - most} more (--json has all)")


def _plan(found: Plan, console: Console) -> None:
    """Print the plan."""
    about = "" if _of_model(found) else f", {plural(found.cases, 'case')}"
    console.print(f"From {found.before.text}{about}", soft_wrap=True)
    for word, goal in (("as called by default", found.newest), ("called as today", found.kept)):
        _goal(word, goal, found, console)
    for target in found.held[:_PLACES]:
        console.print(f"  {target.place.text}: {_hindrance(target)}", soft_wrap=True)
    if len(found.held) > _PLACES:
        console.print(f"  and {len(found.held) - _PLACES} older ones (--json has all)", soft_wrap=True)
    if found.wanted:
        _wanted(found, console)


def _of_model(found: Plan) -> bool:
    return any(target.model for target in (found.newest, found.kept, *found.held) if target)


def _goal(word: str, goal: UpgradeTarget | None, found: Plan, console: Console) -> None:
    """The newest target, called in one way, where nothing is known to break."""
    if goal is None:
        console.print(f"No newer target is known where nothing breaks, {word}.", style="red", soft_wrap=True)
        return
    same = " (where you are)" if goal.place.torch == found.before.torch else ""
    known = f": {goal.model.told}" if goal.model else ""
    console.print(f"Newest target, {word}: {goal.place.text}{same}{known}", style="green", soft_wrap=True)
    _unmeasured(goal, console)


def _hindrance(target: UpgradeTarget) -> str:
    """Why a target is not proposed."""
    if target.model is not None:
        names = target.breaks or tuple(touch.case for touch in target.model.may_touch)
        return f"{target.model.told}{': ' + _some(names) if names else ''}"
    breaks = f"breaks {_some(target.breaks, _NAMED)}" if target.breaks else ""
    lost = f"workarounds that stop working {_some(target.lost, _NAMED)}" if target.lost else ""
    said = "; ".join(filter(None, (breaks, lost)))
    return said or ("nothing breaks" if target.clean else "not measured")


def _wanted(found: Plan, console: Console) -> None:
    assert found.wanted is not None
    console.print()
    console.print(f"{found.wanted.place.text}: {_hindrance(found.wanted)}", style="bold", soft_wrap=True)
    _needs(found.wanted, console)
    if found.wanted.clean:
        return
    best = found.best
    if best and best.place != found.wanted.place:
        console.print()
        console.print(f"Least to do on that release: {best.place.text}", style="bold")
        _needs(best, console)


def _needs(target: UpgradeTarget, console: Console) -> None:
    if target.workarounds:
        console.print(f"  workarounds, {len(target.workarounds)}: {', '.join(target.workarounds)}", soft_wrap=True)
    for name, changed in target.changing.items():
        console.print(f"      {name} {changed}", soft_wrap=True)
    if target.without:
        console.print(f"  no known workaround, {len(target.without)}: {', '.join(target.without)}", soft_wrap=True)
    if target.lost:
        console.print(f"  workarounds that stop working, {len(target.lost)}: {', '.join(target.lost)}", soft_wrap=True)
    _unmeasured(target, console)


def _unmeasured(target: UpgradeTarget, console: Console) -> None:
    if target.unmeasured:
        console.print(f"  not measured there: {_some(target.unmeasured)}", soft_wrap=True)


def _some(names: Sequence[str], most: int = _SHOWN) -> str:
    more = " …" if len(names) > most else ""
    return f"{len(names)} ({', '.join(names[:most])}{more})"
