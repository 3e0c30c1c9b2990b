"""One torch release in every profile, by the version of one companion package."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from caniexport import versions
from caniexport.answers.installed import Installed, read_every_installation
from caniexport.home import NEWEST
from caniexport.model.errors import UnknownName
from caniexport.store import Dataset

#: packages along which a release can be looked at
ALONG_PACKAGES = ("onnxscript", "onnx", "onnx-ir")


def require_release(releases: Sequence[str], asked: Iterable[str], package: str) -> str:
    """Return the one torch release that is named; raises :class:`UnknownName` where none or several are named."""
    found = {versions.resolve(text, releases) for text in asked}
    if len(found) != 1:
        named = f"several are named: {', '.join(versions.ordered(found))}" if found else "name it with --torch"
        raise UnknownName(f"along {package} the answer is about one torch release; {named}")
    return found.pop()


def read_package_versions(dataset: Dataset, torch: str, package: str) -> dict[str, Installed]:
    """Return the environment of each measured version of a package with a torch release, oldest version first.

    Of several environments with one version that of ``newest`` is taken, else one that differs in this package alone.

    Raises :class:`UnknownName` where the release was not measured with it.
    """
    found: dict[str, Installed] = {}

    def rank(item: Installed) -> tuple[bool, bool, str]:
        return item.profile != NEWEST, not item.profile.startswith(f"{package}-"), item.profile

    for item in sorted(read_every_installation(dataset), key=rank, reverse=True):
        version = item.packages.get(package)
        if item.torch == torch and version is not None:
            found[version] = item
    if not found:
        raise UnknownName(f"torch {torch} was not measured with {package} installed")
    return {version: found[version] for version in versions.ordered(found)}
