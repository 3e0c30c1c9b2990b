"""A runtime for tests: a package named onnxruntime whose "models" are words that it obeys, faults included.

Its providers do what onnxruntime's do: CUDA is compiled in, cannot be loaded (unless ``CUDA_WORKS`` is set), and its
sessions are made on the CPU with no more than a line in the log; where it works, it computes in TF32 unless that is
turned off as NVIDIA's libraries have it, and "illegal" makes every later run of the process fail. OpenVINO leaves nodes
to the CPU. Words that begin with "cpu" are faults of the CPU provider alone, "drift" is one of every other.

The faults are real ones: the process really gets SIGSEGV, really sleeps, really aborts. Bundles and archives are the
real thing too.
"""

from __future__ import annotations

from pathlib import Path

from caniexport.bundles import probes
from caniexport.bundles.pack import archive_bytes, make_bundle
from caniexport.runner.archive import ArchiveEntry

_PACKAGE = """
import json, mmap, os, signal, time
import numpy as np

spoilt = ""

__version__ = "9.9.9"

class SessionOptions:
    strict = False
    enable_profiling = False

    def add_session_config_entry(self, name, value):
        self.strict = (name, value) == ("session.disable_cpu_ep_fallback", "1")

def get_available_providers():
    return ["CUDAExecutionProvider", "OpenVINOExecutionProvider", "CPUExecutionProvider"]

class GraphOptimizationLevel(int):
    pass

class _Input:
    name = "x"

class InferenceSession:
    def __init__(self, model, options, providers, provider_options=None, enable_fallback=1):
        self.word = bytes(model).decode()
        self.asked, self.options = providers[0], options
        if self.asked == "CUDAExecutionProvider" and "CUDA_WORKS" not in os.environ:
            said = "Failed to load library x.so with error: libcublasLt.so.13: cannot open"
            os.write(2, os.environ.get("CUDA_SAYS", said).encode() + b"\\n")
            self.asked = "CPUExecutionProvider"
        if self.word.startswith("cpu"):
            self.word = self.word[3:] if self.asked == "CPUExecutionProvider" else "relu"
        left = {"split": ["Gather", "Relu"], "left": ["Gather", "Gather"]}.get(self.word, [])
        self.nodes = [("CPUExecutionProvider", op) for op in left]
        if self.word not in ("left", "folded"):
            self.nodes.append((self.asked, "Relu"))
        if self.asked != "CPUExecutionProvider" and left and options.strict:
            raise RuntimeError("1 : FAIL : fallback to CPU EP has been explicitly disabled by the user.")
        if self.word == "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.word == "fork" and os.fork() == 0:
            time.sleep(1000007)
        if self.word == "shared":
            kept = []
            while True:
                kept.append(mmap.mmap(-1, 8 << 20))
                kept[-1].write(b"x" * (8 << 20))
                time.sleep(0.002)
        if self.word == "hang":
            time.sleep(600)
        if self.word == "refuse":
            raise RuntimeError("Fatal error: my.dom:FooBar(-1) is not a registered function/op")
        if self.word == "once" and not os.path.exists(os.environ["ONCE"]):
            open(os.environ["ONCE"], "w").close()
            os.abort()

    def get_providers(self):
        return list(dict.fromkeys([self.asked, "CPUExecutionProvider"]))

    def end_profiling(self):
        if vars(self).get("profiled"):
            return ""  # as the real one: a session is profiled once
        self.profiled = True
        events = [
            {"cat": "Node", "name": f"n{i}_kernel_time", "args": {"provider": provider, "op_name": op}}
            for i, (provider, op) in enumerate(self.nodes)
        ]
        path = self.options.profile_file_prefix + ".json"
        with open(path, "w") as file:
            json.dump(events * 2, file)
        return path

    def get_inputs(self):
        return [_Input()]

    def run(self, outputs, feeds):
        global spoilt
        if self.word.startswith("illegal") and self.asked == "CUDAExecutionProvider":
            spoilt = "CUDA failure 700: an illegal memory access was encountered ; GPU=0"
        if spoilt and self.asked == "CUDAExecutionProvider":
            raise RuntimeError(spoilt)
        if self.word == "oom":
            raise RuntimeError("CUDA failure 2: out of memory ; GPU=0 ; expr=cudaMalloc((void**)&p, size);")
        if self.word == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.word == "abort":
            print("terminate called", flush=True)
            os.abort()
        if self.word == "reuse":
            self.memory = vars(self).get("memory", np.zeros(3, "float32"))
            np.maximum(feeds["x"], 0, out=self.memory)
            return [self.memory]
        if self.word == "text":
            return [np.array(["0", "b", "c"], dtype=object)]
        x = np.maximum(feeds["x"], 0)
        if self.asked == "CUDAExecutionProvider" and os.environ.get("NVIDIA_TF32_OVERRIDE") != "0":
            x = x * np.float32(1 + 2**-11)  # what rounding to ten bits costs at most
        if self.word == "drift" and self.asked != "CPUExecutionProvider":
            x = x * np.float32(1.001)
        if self.word == "near" and self.asked != "CPUExecutionProvider":
            x = x * np.float32(1.00005)
        return [x + 1 if self.word == "wrong" else x]
"""


def install(folder: Path, *distributions: str) -> Path:
    """Write the package under ``folder``, as installed by these distributions (``onnxruntime-9.9.9``)."""
    package = folder / "onnxruntime" / "__init__.py"
    package.parent.mkdir(parents=True)
    package.write_text(_PACKAGE, encoding="utf-8")
    for distribution in distributions or ("onnxruntime-9.9.9",):
        name, _, version = distribution.rpartition("-")
        info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    return folder


def bundle(word: str) -> list[tuple[str, bytes]]:
    """Names and contents of the bundle whose model is this word: three numbers in, those above zero out.

    "reuse", whose outputs are always the same memory, and "folded", which has no node, have a second input set.
    """
    _, _, files = next(probes.make_probes())
    again = [
        ("test_data_set_1/input_0.pb", probes._tensor([3.0, -4.0, 5.0])),
        ("test_data_set_1/output_0.pb", probes._tensor([3.0, 0.0, 5.0])),
    ]
    return [("model.onnx", word.encode()), *files[1:], *(again if word in ("reuse", "folded") else [])]


def archive(path: Path, *words: str, spoilt: str = "") -> list[ArchiveEntry]:
    """Write an archive with a bundle for each word; that of the word ``spoilt`` has the content of another one."""
    entries, sources = [], {}
    for word in words:
        name, data = make_bundle(bundle(word))
        if word == spoilt:
            data = make_bundle(bundle("another"))[1]
        entries.append(ArchiveEntry(name, "documented", word, "plain"))
        sources[name] = data
    path.write_bytes(archive_bytes(entries, {name: lambda data=data: data for name, data in sources.items()}, {}))
    return entries
