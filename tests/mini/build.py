"""Builds the stand-in packages into wheels, by hand: a wheel is a zip archive with three files of metadata.

``python tests/mini/build.py FOLDER`` writes torch, onnx and onnxruntime for every release of :data:`ERAS`.
Nothing here is on any index: the versions are far above anything real, and an installer is pointed at the folder.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

PACKAGES = Path(__file__).parent / "packages"


class Era(NamedTuple):
    """What a release of the stand-in torch has: TorchScript opsets, scripting, dynamo and its lowest opset."""

    opsets: tuple[int, int]
    script: bool
    dynamo: bool
    dynamo_opset: int


ERAS = {
    "91.0.0": Era((7, 9), script=False, dynamo=False, dynamo_opset=0),
    "92.0.0": Era((9, 11), script=True, dynamo=True, dynamo_opset=10),
}


def build(folder: Path) -> Path:
    """Write every wheel into a folder below ``folder`` and return that one.

    Its name tells the contents: uv remembers a wheel by its path alone, and would install yesterday's.
    """
    sources = [path.read_bytes() for path in (Path(__file__), *sorted(PACKAGES.rglob("*.py")))]
    folder = folder / ("wheels-" + hashlib.sha256(b"".join(sources)).hexdigest()[:12])
    folder.mkdir(parents=True, exist_ok=True)
    for version, era in ERAS.items():
        features = "".join(f"{name.upper()} = {value!r}\n" for name, value in era._asdict().items())
        _wheel(folder, "torch", version, {"torch/_era.py": features}, ("numpy", f"onnx=={version}"))
        _wheel(folder, "onnx", version, {}, ("numpy",))
        _wheel(folder, "onnxruntime", version, {}, ("numpy", f"onnx=={version}"))
    return folder


def _wheel(folder: Path, name: str, version: str, extra: dict[str, str], requires: tuple[str, ...]) -> None:
    files = {
        path.relative_to(PACKAGES).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((PACKAGES / name).rglob("*.py"))
    }
    files |= {f"{name}/_version.py": f'__version__ = "{version}"\n', **extra}
    info = f"{name}-{version}.dist-info"
    files[f"{info}/METADATA"] = _metadata(name, version, requires)
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: mini\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = [f"{path},sha256={_digest(text)},{len(text.encode())}" for path, text in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,"]) + "\n"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            # no time of day: the same sources make the same wheel
            archive.writestr(zipfile.ZipInfo(path), text)


def _metadata(name: str, version: str, requires: tuple[str, ...]) -> str:
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    return "\n".join([*lines, *(f"Requires-Dist: {item}" for item in requires)]) + "\n"


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    print(build(Path(sys.argv[1])))
