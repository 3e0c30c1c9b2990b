"""What people say in their own words of a failure, where their text has no exception: phrases that mean one case, and
words that may be the name of an operator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

#: what is said of a case without its error; of several the first that a text has
PHRASES = tuple(
    (re.compile(phrase, re.IGNORECASE), case)
    for phrase, case in (
        (r"\bSAGEConv|\bG(?:CN|AT|IN)Conv\b|\bMessagePassing\b", "scatter-add-duplicates"),
        (r"\bceil_?mode\b", "max-pool-ceil-mode-window-in-padding"),
        (r"\bdynamic_axes\b[^\n]{0,120}\b(?:match|misspell?|provided name)", "gru-misspelt-dynamic-axes"),
        (r"\bexport_params ?= ?False\b", "export-params-false-drops-weights"),
        (
            r"\b(?:dynamic|variable|fixed|different|arbitrary|any|multi(?:ple)?|larger)[- _]?batch"
            r"|\bbatch[- _]?(?:infer\w*|size)\b[^\n]{0,60}\b(?:dynamic|variable|fixed|static|None|1|one|-1)(?!\w|\.\d)"
            r"|\b(?:single|one) image\b|\bbatch infer",
            "dynamic-axes-batch-2-input",
        ),
        (
            r"\b(?:dynamic|variable|different|arbitrary|any|varying)(?: \w+)? "
            r"(?:length|sizes?|shapes?|resolution|dimensions?|counts?|numbers?)\b"
            r"|\bfixed(?: \w+)? (?:length|size|shape|resolution|number)\b|\bdynamic (?:input|axes|axis)\b",
            "dynamic-axes-size-20-input",
        ),
        (r"\bif[ /-]?else\b|\bif[- ]statement|\bcontrol[ -]flow\b", "branch-on-value"),
        (r"\bcustom (?:op|operator|layer|cuda|c\+\+)", "route-torchscript-custom-op"),
        (
            r"\b(?:outputs?|returns?|results? in)\b[^\n.]{0,40}\bdict(?:s|ionar(?:y|ies))?\b"
            r"|\bdict(?:s|ionar(?:y|ies))?\b[^\n.]{0,40}\b(?:as|at) (?:the |an )?outputs?\b",
            "dict-as-output",
        ),
    )
)
_WORD = re.compile(r"(?<![\w.])[a-z]\w{2,}(?![\w.])")
#: how the names of operators end in a sentence: several of them, or doing it
_ENDINGS = (("s", ""), ("es", ""), ("ing", ""), ("ing", "e"))
#: letters of a name from which a word without its ending may be it
_LEAST = 4


def find_phrase(text: str) -> str:
    """The case that a text's own words mean; empty where they mean none."""
    return next((case for phrase, case in PHRASES if phrase.search(text)), "")


def read_words(text: str) -> Iterator[str]:
    """The words of a text in lower case, each also without its ending."""
    for word in _WORD.findall(text.casefold()):
        yield word
        for ending, instead in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= _LEAST:
                yield word[: len(word) - len(ending)] + instead
