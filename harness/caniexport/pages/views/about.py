"""What the signs and words mean, and what the dataset holds."""

from __future__ import annotations

from caniexport.audit import saved
from caniexport.pages.form import Form, Page
from caniexport.pages.kept import Kept
from caniexport.pages.overview import overview
from caniexport.pages.render import render

#: words of these pages, as they are used here
WORDS = (
    ("case", "one documented failure: a small model with its inputs, and the sources that speak of it"),
    ("failing form", "the model as the sources have it; the dataset calls it plain"),
    ("fix", "the same model written or exported another way. It must give the same values before it counts"),
    ("trace, script", "the two ways of the TorchScript exporter: by recording one call, or by reading the code"),
    ("dynamo", "the exporter behind torch.export (dynamo_export in torch 2.1 to 2.4)"),
    ("default, the bare call", "torch.onnx.export(model, args, file) with nothing else said: what that release does"),
    ("opset", "the version of ONNX's operators that is asked for; each release takes some of them"),
    ("cell", "one form of a case, exported by one release and exporter at one opset, then run and compared"),
    ("runtime, provider", "what runs the file (onnxruntime beside the release, unless said), and on which hardware"),
    ("stage", "how far a cell came: import, eager, export, check, load, place, run, compare, done"),
    ("signature", "an error's first line without what differs from run to run: equal signatures are one cause"),
)


def page(form: Form, kept: Kept) -> Page:
    """The words, the signs and the numbers."""
    body = render(
        "about.html",
        rows=kept.rows(),
        found=kept.answer(overview),
        audit=kept.answer(saved.last),
        words=WORDS,
        is_readable=not kept.problems,
    )
    lead = "Every row was measured by an export in an environment of its own; nothing is copied from a document."
    return form.page("About these measurements", lead, body)
