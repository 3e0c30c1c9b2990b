"""onnxruntime, with every provider that has its own package or build of it."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping

from harness.runner.adapters.base import Adapter, Refused, Running, Session, Unavailable
from harness.worker import envinfo, runtimes
from harness.worker.status import Stage

#: distributions that unpack into the folder ``onnxruntime``: the one installed last has overwritten the other
PACKAGES = (
    "onnxruntime",
    "onnxruntime-gpu",
    "onnxruntime-openvino",
    "onnxruntime-directml",
    "onnxruntime-training",
)


class OnnxRuntime(Adapter):
    """Sessions as :mod:`harness.worker.runtimes` makes them for cells: the same options, the same one thread."""

    name = "onnxruntime"
    providers = tuple(runtimes.PROVIDERS)

    def start(self) -> Running:
        """Refuses two packages in one folder; then imports. Device names come from the driver, not from CUDA."""
        have = {name: version for name, version in envinfo.installed().items() if name in PACKAGES}
        if len(have) > 1:
            raise Unavailable(
                Stage.RESOLVE,
                "{} are installed together: both unpack into one folder, so neither is what it says. "
                "Keep one environment for each".format(" and ".join(" ".join(item) for item in sorted(have.items()))),
            )
        try:
            version = runtimes.version()
        except ImportError as error:
            stage = Stage.IMPORT if have else Stage.RESOLVE
            raise Unavailable(stage, "onnxruntime does not import: {}".format(error)) from error
        return Running(version)

    def load(
        self,
        model: bytes,
        options: Mapping[str, Any],
        announce: Callable[[Stage], None],  # noqa: ARG002  # it has no stage of its own
    ) -> Session:
        """As for a cell. Raises :class:`Refused` where the session silently runs on another provider."""
        try:
            return _Session(runtimes.load(model, self.provider, options))
        except runtimes.WrongProvider as error:
            raise Refused(str(error)) from error


class _Session(Session):
    def __init__(self, session: runtimes.Session) -> None:
        self._session = session
        self.input_names = session.input_names

    def run(self, feeds: Dict[str, Any]) -> List[Any]:
        return self._session.run(feeds)


ADAPTER = OnnxRuntime
