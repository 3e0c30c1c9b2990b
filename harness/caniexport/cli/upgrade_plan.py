"""``caniexport upgrade --plan``: where to go, and what it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from caniexport.answers.plan import Plan, UpgradeTarget

_SHOWN = 12


def show(found: Plan, console: Console) -> None:
    """Print the plan."""
    from rich.text import Text

    console.print(Text(f"From {found.before.text}, {found.cases} cases", style="bold"))
    for note in found.notes:
        console.print(f"- {note}", soft_wrap=True)
    console.print()
    if found.newest:
        same = " (where you are)" if found.newest.place.torch == found.before.torch else ""
        console.print(Text(f"Newest target where nothing breaks: {found.newest.place.text}{same}", style="bold green"))
        _unmeasured(found.newest, console)
    else:
        console.print(Text("Every release from here on breaks something.", style="bold red"))
    for target in found.held:
        console.print(f"  {target.place.text}: {_some(target.breaks)}", soft_wrap=True)
    if found.wanted:
        _wanted(found, console)


def _wanted(found: Plan, console: Console) -> None:
    from rich.text import Text

    assert found.wanted is not None
    console.print()
    if found.wanted.clean:
        console.print(Text(f"{found.wanted.place.text}: nothing breaks", style="bold green"))
        _unmeasured(found.wanted, console)
        return
    console.print(Text(f"{found.wanted.place.text}: {len(found.wanted.breaks)} break", style="bold red"))
    _needs(found.wanted, console)
    best = found.best
    if best and best.place != found.wanted.place:
        console.print()
        console.print(Text(f"Least to do on that release: {best.place.text}", style="bold"))
        _needs(best, console)


def _needs(target: UpgradeTarget, console: Console) -> None:
    if target.clean:
        console.print("  nothing breaks there")
    if target.workarounds:
        console.print(f"  workarounds, {len(target.workarounds)}: {', '.join(target.workarounds)}", soft_wrap=True)
    if target.without:
        console.print(f"  no known workaround, {len(target.without)}: {', '.join(target.without)}", soft_wrap=True)
    _unmeasured(target, console)


def _unmeasured(target: UpgradeTarget, console: Console) -> None:
    if target.unmeasured:
        console.print(f"  not measured there: {_some(target.unmeasured)}", soft_wrap=True)


def _some(names: Sequence[str]) -> str:
    more = " …" if len(names) > _SHOWN else ""
    return f"{len(names)} ({', '.join(names[:_SHOWN])}{more})"
