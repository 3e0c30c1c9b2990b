"""The filters of a page: what its address asks for, and what a reader may choose instead.

The address is where filters live. A value in it that nobody knows is answered with the nearest known ones, and counts
as not given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from markupsafe import Markup

from caniexport import names, versions
from caniexport.answers.filters import exporter_name
from caniexport.answers.inventory import Inventory
from caniexport.answers.model_file import ModelFile
from caniexport.model.errors import UnknownName
from caniexport.pages import setting
from caniexport.pages.setting import Setting
from caniexport.pages.sheet import File

APP = "Can I export it?"
#: longest value of a parameter that is looked at
LONGEST = 300


#: parameters that every page takes: a reader's setting, and what Streamlit makes of an address
_EVERYWHERE = frozenset(("embed", *setting.NAMES, *(f"{setting.MINE}{name}" for name in setting.NAMES)))


def read_address(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The parameters of an address: several values of one, as a form writes them, are one with commas between them.

    Empty values are left out.
    """
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        if value and value not in found.setdefault(name, []):
            found[name].append(value)
    return {name: ",".join(values) for name, values in found.items() if values}


@dataclass(frozen=True)
class Field:
    """One filter; a ``combo`` takes one of the known names, or what is typed.

    ``value`` is what is asked for, as the address writes it; ``default`` what an empty one stands for.

    ``known`` are the names to choose from, ``shown`` how those look that do not stand for themselves; ``text`` is the
    word for no choice, or the example in an empty line.
    """

    kind: Literal["select", "combo", "tabs", "pills", "switch", "words"]
    name: str
    label: str
    value: tuple[str, ...]
    known: tuple[str, ...] = ()
    shown: Mapping[str, str] = field(default_factory=dict)
    default: tuple[str, ...] = ()
    text: str = ""
    width: int = 150
    longest: int = LONGEST

    @property
    def one(self) -> str:
        """The value where there is one at most."""
        return "".join(self.value[:1])

    @property
    def choices(self) -> tuple[str, ...]:
        """What a list offers: the known names, and none where ``text`` is not one of them."""
        return self.known if self.text in self.known else ("", *self.known)

    @property
    def current(self) -> str:
        """The choice that a list shows: the value, else the known name that holds without one."""
        return self.one or (self.text if self.text in self.known else "")

    @property
    def chosen(self) -> str:
        """What was chosen, in words; empty where nothing was."""
        given = [self.show(name) for name in self.value if name]
        if not given or self.value == self.default or self.name == "q":
            return ""
        if self.kind == "switch":
            return self.label
        part = self.name.removeprefix(setting.MINE)
        if part not in setting.NAMES:
            return f"{self.label}: {', '.join(given)}"
        return ", ".join(given) if part == "exporter" else f"{part} {', '.join(given)}"

    def show(self, name: str) -> str:
        """How a known name looks."""
        return self.shown.get(name, name)


@dataclass(frozen=True)
class Page:
    """A page: its heading, what stands above its filters, the filters in bars, and what stands below them.

    ``warnings`` name what is not known of the address that asked for it; ``back``: whether links lead back from it;
    ``is_live``: whether the host shows the measurements that go on; ``takes_file``: whether it takes an ONNX file;
    ``folds``: whether its filters are folded on a narrow screen, for what they narrow is there without them;
    ``searches``: whether the search among them is not, for it is what most readers come for.
    ``about`` is what was asked, where the heading does not have it; ``read_as`` the parameters of the address with the
    filters that were typed into the search.
    ``mine`` is the reader's setting, which its links take along; ``shows_mine``: whether its filters show it whole.
    ``files`` are what a reader can save: its table, the cells of a matrix, the script of a cell.
    ``tabs``: name, title and whether it is this page, of each tab.
    """

    title: str
    lead: str
    body: Markup
    above: str = ""
    bars: tuple[tuple[Field, ...], ...] = ()
    warnings: tuple[str, ...] = ()
    back: bool = False
    is_live: bool = False
    takes_file: bool = False
    folds: bool = False
    searches: bool = False
    mine: Setting = field(default_factory=Setting)
    shows_mine: bool = False
    about: str = ""
    read_as: Mapping[str, str] | None = None
    files: tuple[File, ...] = ()
    tabs: tuple[tuple[str, str, bool], ...] = ()

    @property
    def chosen(self) -> tuple[str, ...]:
        """What its filters are set to, in words; those that are as they come are left out."""
        return tuple(field.chosen for bar in self.bars for field in bar if field.chosen)

    @property
    def tab(self) -> str:
        """What a tab, a bookmark and the history call it: what it is about, else its heading."""
        what = self.about or self.title
        return what if what == APP else f"{what} · {APP}"


class Form:
    """The parameters of an address, read one filter after the other.

    ``whole``: the page is a file, and nobody can ask it for more. ``file`` is an ONNX file that its reader has given
    beside the address.
    """

    def __init__(
        self,
        asked: Mapping[str, str],
        *,
        whole: bool = False,
        file: ModelFile | None = None,
    ) -> None:
        self.asked = asked
        self.whole = whole
        self.file = file
        self.bars: list[list[Field]] = []
        self.warnings: list[str] = []
        self.read: set[str] = set()
        self._missing: dict[str, tuple[str, ...]] = {}
        self.mine = Setting()
        self._prefix = ""
        self._chosen: frozenset[str] = frozenset()

    @property
    def missing(self) -> Mapping[str, tuple[str, ...]]:
        """The parameters, and parts of the setting, of which nothing that was asked for is known; with the nearest."""
        return {**self.mine.missing, **self._missing}

    def bar(self) -> None:
        """Begin a bar: the filters that follow stand side by side."""
        self.bars.append([])

    def read_setting(self, known: Inventory, prefix: str = "") -> None:
        """Read the reader's setting, whose parameters begin with ``prefix``."""
        self._prefix = prefix
        self.mine = setting.read(self.asked, known, prefix, self.warnings.append)

    def choose_setting(
        self,
        known: Inventory,
        parts: Sequence[str] = setting.NAMES,
        exporters: Sequence[str] = (),
        *,
        apart: bool = True,
    ) -> None:
        """The filters of these parts of the setting, in a bar of their own (``apart``) or the last one.

        ``exporters`` are those that a page takes where none were chosen.
        """
        self._chosen = frozenset(parts)
        if apart:
            self.bar()
        for part in setting.PARTS:
            if part.name in parts:
                self._add(self._part(part, known, tuple(exporters)))

    def _part(self, part: setting.SettingPart, inventory: Inventory, exporters: tuple[str, ...]) -> Field:
        name, known = f"{self._prefix}{part.name}", tuple(part.known(inventory))
        given = self.mine.address.get(part.name, "")
        if part.kind == "pills":
            value = self.mine.of(part.name) or exporters
            return Field("pills", name, part.label, value, known, part.shown, exporters, text=part.text)
        newest_first = known[::-1] if part.name == "torch" else known
        # a select has the value meant, a combo what was written
        value = (self.mine.one(part.name) if part.kind == "select" else given,)
        return Field(part.kind, name, part.label, value, newest_first, part.shown, text=part.text, width=170)

    def text(self, name: str, longest: int = LONGEST) -> str:
        """A parameter as it stands in the address, as far as it is looked at; empty where it is not given."""
        self.read.add(name)
        return self.asked.get(name, "")[:longest]

    def take(self, *names: str) -> None:
        """Know these parameters, though they mean nothing for what the page is asked about."""
        self.read.update(names)

    def one_of(self, name: str, known: Sequence[str], kind: str = "", *, linked: bool = False) -> str:
        """A parameter that must be one of the known names; empty where it is not given or was reported as unknown."""
        return "".join(self.several_of(name, known, kind, linked=linked)[:1])

    def several_of(self, name: str, known: Sequence[str], kind: str = "", *, linked: bool = False) -> tuple[str, ...]:
        """A parameter of names with commas between them, in the order of ``known``; unknown ones are reported.

        ``linked``: the page itself has the nearest names, as links.
        """
        found = set()
        items = [item for part in self.text(name).split(",") if (item := part.strip())]
        for item in items:
            try:
                if name in setting.RELEASES and item not in known:
                    value, note = versions.resolve_with_note(item, known)
                    self.warnings += filter(None, (note,))
                else:
                    given = exporter_name(item) if name.endswith("exporter") else item
                    value = names.require(kind or name, given, known)
                found.add(value)
            except UnknownName as error:
                is_named = linked and names.find_nearest(item, known)
                self.warnings.append(f"unknown {kind or name} {item!r}" if is_named else str(error))
        if items and not found:
            self._missing[name] = setting.near(name, items[0], known)
        return tuple(item for item in known if item in found)

    def select(
        self,
        name: str,
        label: str,
        known: Sequence[str],
        *,
        text: str = "any",
        shown: Mapping[str, str] | None = None,
        width: int = 150,
        linked: bool = False,
    ) -> str:
        """A list to choose from, and ``text`` for none; gives the name, empty for none."""
        asked = self.one_of(name, known, label.lower(), linked=linked)
        return self._add(Field("select", name, label, (asked,), tuple(known), shown or {}, text=text, width=width)).one

    def tabs(
        self, name: str, label: str, known: Sequence[str], default: str, shown: Mapping[str, str] | None = None
    ) -> str:
        """One of the known names, side by side; ``default`` where the address names none."""
        asked = self.one_of(name, known, label.lower()) or default
        return self._add(Field("tabs", name, label, (asked,), tuple(known), shown or {}, (default,))).one

    def pills(
        self,
        name: str,
        label: str,
        known: Sequence[str],
        *,
        default: Sequence[str] = (),
        shown: Mapping[str, str] | None = None,
    ) -> tuple[str, ...]:
        """Switches over the known names; gives those that are on, or ``default`` where the address names none."""
        asked = self.several_of(name, known, label.lower()) or tuple(default)
        return self._add(Field("pills", name, label, asked, tuple(known), shown or {}, tuple(default))).value

    def switch(self, name: str, label: str) -> bool:
        """An on/off switch; ``1`` in the address is on."""
        return self._add(Field("switch", name, label, ("1",) if self.text(name) == "1" else ())).one == "1"

    def words(
        self,
        name: str,
        label: str,
        text: str,
        *,
        width: int = 230,
        longest: int = LONGEST,
    ) -> str:
        """A field for a line of text; a longer one is cut, with a warning."""
        value = (self.text(name, longest),)
        if len(self.asked.get(name, "")) > longest:
            self.warnings.append(f"the text in «{label}» is too long: only its first {longest:,} characters are read")
        return self._add(Field("words", name, label, value, text=text, width=width, longest=longest)).one

    def _add(self, made: Field) -> Field:
        if not self.bars:
            self.bar()
        self.bars[-1].append(made)
        return made

    def page(
        self, title: str, lead: str, body: Markup, above: str = "", about: Iterable[str] = (), **more: Any
    ) -> Page:
        """The page with the filters read so far; ``more`` are the switches of :class:`Page`."""
        bars = tuple(tuple(bar) for bar in self.bars)
        known = _EVERYWHERE | self.read
        unknown = [
            str(names.unknown_name("parameter", name, sorted(known))) for name in self.asked if name not in known
        ]
        warnings = tuple(dict.fromkeys((*self.warnings, *unknown)))
        is_shown = self._chosen.issuperset(self.mine.address)
        subject = ", ".join(filter(None, about))
        return Page(
            title, lead, body, above, bars, warnings, mine=self.mine, shows_mine=is_shown, about=subject, **more
        )
