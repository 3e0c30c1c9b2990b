"""The parts of a script that are the same for every cell, as source text for Python 3.7 and later.

They are the measuring code in small: ``harness/caniexport/worker/subject.py``, ``runtimes.py`` and ``compare.py``; a
test holds them to the same words and the same values.
"""

DRAW = '''
def draw(seed, dtype, shape, low=0, high=2):
    """The values that were measured: numpy keeps this stream the same on every release."""
    stream = np.random.RandomState(zlib.crc32(seed.encode()))
    if np.dtype(dtype).kind in "biu":
        return stream.randint(int(low), int(high), size=shape).astype(dtype)
    return stream.uniform(low, high, size=shape).astype(dtype)
'''

FILL = '''
def with_measured_parameters(model):
    """torch's own initialisation differs between releases."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dtype.is_floating_point:
                stream = np.random.RandomState(zlib.crc32(({prefix} + name).encode()))
                drawn = stream.uniform(-0.5, 0.5, size=tuple(parameter.shape)).astype("float32")
                parameter.copy_(torch.from_numpy(np.asarray(drawn)))
    return model
'''

TENSORS = '''
def tensors(item):
    """Arrays as torch tensors, whatever they are nested in."""
    if isinstance(item, np.ndarray):
        return torch.from_numpy(item.copy())
    if isinstance(item, (list, tuple)):
        return type(item)(tensors(part) for part in item)
    return {key: tensors(part) for key, part in item.items()} if isinstance(item, dict) else item
'''

FLAT = '''
def flat(output):
    """A module's output as a list of arrays."""
    if isinstance(output, (list, tuple, dict)):
        return [array for part in (output.values() if isinstance(output, dict) else output) for array in flat(part)]
    if output is None:
        return []
    return [np.array(output.detach().cpu().numpy()) if hasattr(output, "detach") else np.asarray(output)]
'''

EAGER = '''
def eager(make, inputs):
    """What the module gives without any export."""
    torch.manual_seed(0)
    with torch.no_grad():
        return make().eval()(*tensors(inputs))
'''

FEEDS = '''
def feeds(session, inputs):
    """By name where the file has the arguments' names, else by position."""
    names = [item.name for item in session.get_inputs()]
    named = dict(zip(ARGUMENTS, inputs))
    if all(name in named for name in names):
        return {name: named[name] for name in names}
    if len(names) > len(inputs):
        text = "the file takes {} input(s) ({}), the module {}"
        raise ValueError(text.format(len(names), ", ".join(names), len(inputs)))
    return dict(zip(names, inputs))
'''

FEEDS_NESTED = '''
def arrays(item):
    """The arrays of a nested input in order."""
    if isinstance(item, (list, tuple, dict)):
        return [array for part in (item.values() if isinstance(item, dict) else item) for array in arrays(part)]
    return [item] if isinstance(item, np.ndarray) else []


def feeds(session, inputs):
    """By name where the file has the arguments' names, else by position: tensors alone, then with the numbers."""
    names = [item.name for item in session.get_inputs()]
    named = {}
    for name, item in zip(ARGUMENTS, inputs):
        if isinstance(item, (int, float, np.ndarray)):
            named[name] = np.asarray(item, dtype="float32" if isinstance(item, float) else None)
    if all(name in named for name in names):
        return {name: named[name] for name in names}
    for candidates in (arrays(inputs), list(named.values())):
        if len(names) <= len(candidates):
            return dict(zip(names, candidates))
    text = "the file takes {} input(s) ({}), the module {}"
    raise ValueError(text.format(len(names), ", ".join(names), len(arrays(inputs))))
'''

DIFFERENCES = '''
def memory_of_inputs(index, outputs, given):
    """Outputs that onnxruntime gives as an input's own memory: what they hold once the input is freed is chance."""
    return [
        "input set {}, output {}: it is the memory of input {}, and goes with it".format(index, position, name)
        for position, output in enumerate(outputs)
        for name, array in given.items()
        if isinstance(output, np.ndarray) and output.size and np.may_share_memory(output, array)
    ]


def differences(index, expected, found, who):
    """Why the outputs of one input set do not agree, one line each; nothing where they do."""
    if len(expected) != len(found):
        return ["input set {}, {} output(s) expected, {} gave {}".format(index, len(expected), who, len(found))]
    problems = []
    for position, (want, got) in enumerate(zip(expected, map(np.asarray, found))):
        name = "input set {}, output {}".format(index, position)
        if want.dtype != got.dtype:
            problems.append("{}: dtype {} expected, {} gave {}".format(name, want.dtype, who, got.dtype))
        if want.shape != got.shape:
            shapes = list(want.shape), who, list(got.shape)
            problems.append("{}: shape {} expected, {} gave {}".format(name, *shapes))
            continue
        rtol, atol = TOLERANCES.get(str(want.dtype), (0.0, 0.0))
        wide = "complex128" if np.iscomplexobj(want) else "float64"
        with np.errstate(all="ignore"):
            left, right = want.astype(wide), got.astype(wide)
            same = (want == got) | (np.isnan(left) & np.isnan(right))
            error = np.where(same, 0.0, np.abs(left - right))
            error = np.where(np.isfinite(error), error, np.finfo("float32").max)
            allowed = atol + rtol * np.where(np.isfinite(np.abs(left)), np.abs(left), 0.0)
        bad = ~same & ~(error <= allowed)
        if bad.any():
            at = np.unravel_index(int(np.argmax(np.where(bad, error, -1.0))), want.shape)
            where = "[" + ", ".join(str(int(part)) for part in at) + "]"
            text = "{}: {} of {} values differ, most at {}: expected {!s}, {} gave {!s}"
            problems.append(text.format(name, int(bad.sum()), want.size, where, want[at], who, got[at]))
    return problems
'''

MAIN = '''
class Mismatch(Exception):
    """It runs, and the values are wrong."""


class State:
    """How far it got."""

    stage, where = "eager", ""


def begin(stage, where=""):
    State.stage, State.where = stage, where
    print(stage, flush=True)


def status_of(error):
    if isinstance(error, Mismatch):
        return "mismatch"
    return "unsupported" if State.stage == "export" and REFUSED.search(str(error)) else "fail"


def main():
    """Run it and say how it ended; exit code 0 where that is what was measured."""
    try:
        reasons = reproduce()
        found = "{} at done".format("degraded" if reasons else "pass")
        text = "; ".join(reasons)
    except Exception as error:
        found = "{} at {}".format(status_of(error), State.stage)
        chain = [error]
        while chain[-1].__cause__ is not None and chain[-1].__cause__ not in chain:
            chain.append(chain[-1].__cause__)
        text = "\\ncaused by ".join("{}: {}".format(type(item).__name__, str(item).strip()) for item in chain)
        text = State.where + (str(error) if isinstance(error, Mismatch) else text)
    print("\\n{}{}".format(found, "\\n" + text if text else ""))
    print("\\nmeasured was: {} ({})".format(MEASURED, "the same" if found == MEASURED else "DIFFERENT"))
    return 0 if found == MEASURED else 1
'''

RUN_MAIN = """
if __name__ == "__main__":
    sys.exit(main())
"""

WATCH = '''
def watch():
    """Run this file in a process of its own: it was seen to end otherwise than by an exception."""
    child = subprocess.Popen([sys.executable, __file__, "--inside"], stdout=subprocess.PIPE, universal_newlines=True)
    killer = threading.Timer({seconds}, child.kill)
    killer.start()
    stage = "eager"
    for line in child.stdout:
        print(line, end="", flush=True)
        stage = line.strip() if line.strip() in STAGES else stage
    code = child.wait()
    late = not killer.is_alive()
    killer.cancel()
    if code in (0, 1):
        return code
    found = "{{}} at {{}}".format("timeout" if late else "crash", stage)
    print("\\n{{}}\\nthe process ended with {{}}".format(found, code))
    print("\\nmeasured was: {{}} ({{}})".format(MEASURED, "the same" if found == MEASURED else "DIFFERENT"))
    return 0 if found == MEASURED else 1


STAGES = ("eager", "export", "check", "load", "run", "compare")

if __name__ == "__main__":
    sys.exit(main() if "--inside" in sys.argv else watch())
'''
