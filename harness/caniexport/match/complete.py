"""What an error text says, completed by what the dataset's errors tell: above all the operator it does not name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from caniexport.match.alike import speaks_alike
from caniexport.match.error_index import ErrorIndex
from caniexport.match.evidence import (
    ErrorEvidence,
    both_ends,
    mended,
    misspelt,
    node_names,
    read_attributes,
    read_error,
    spelled,
)
from caniexport.match.mentions import (
    CODE_WORD,
    OF_TORCH,
    every_operator,
    read_mentions,
    read_of_extension,
    read_said,
)
from caniexport.match.prose import read_words
from caniexport.match.sentences import find_parts, normal
from caniexport.operators import dtypes_of, operator_key, operator_keys

#: a name with an underscore, in quotes, or spelled as ONNX spells operators
_MENTIONED = re.compile(
    r"\b(?:_?[a-z]\w*_\w+|[A-Z][a-z]+(?:[A-Z]\w*)|[A-Z]{3,})\b"
    r"|\b(\w+)\(\) (?:got|missing|takes)"
    r"|['`\"](?!(?:Tensor|Size)\b)((?:\w+[.:]+)*\w+)['`\"]"
)
#: the number of a value that has its operator's name (``_fft_c2r_35``)
_VALUE = re.compile(r"^(_?[a-z]\w{0,60}_\w{1,60})_\d+$")
#: a word of a sentence that may be a function of torch
_WORD = re.compile(r"(?<![\w.])[a-z]\w{2,}(?![\w.])")
#: how the names of operators end in prose, and in code
_PROSE = {"pooling": "pool", "padding": "pad", "sampling": "sample", "isation": "ization"}
_IN_PROSE = re.compile(r"(?:pooling|padding|sampling|isation)(?![a-z])")
#: letters from which a name that is known but for one letter is misspelt
_LEAST_NAME = 6
#: operators whose names are words of a sentence, too: said in one they say nothing
_WORDS_TOO = frozenset(
    "abs adaptive add all and any append arange aten attention bool broadcast cast cat chunk clamp clip clone complex "
    "compress concat concatenation constant contiguous conv convolution copy cos cross detach div divide embedding "
    "empty equal exp expand fill flat flatten flip float floor fold full gather greater identity index int inverse "
    "invert item less linear list log loop max maximum mean min minimum mode mul neg norm normal not one optional pad "
    "pow prod rand range remainder repeat reshape resize roll rope round scan scatter select shape sin size slice "
    "solve sort split squeeze std sub sum tensor trace transpose trunc uniform unique var view where xor zeros".split()
)
#: operators that are told of a text, those of which nothing says that they fail among them
_MOST_NAMED = 3
#: what is said of an attribute, with the node that made its value
_MADE_BY = re.compile(r"Failed to export an ONNX attribute '")


def read_completed(where: ErrorIndex, text: str) -> tuple[str, ErrorEvidence]:
    """A text with its misspelt words mended, and the evidence in it, completed by what the dataset's errors tell."""
    said, text = text, mended(text)
    read = _with_warned(where, _without_maker(where, read_error(text)), text)
    # without a misspelt word a text is an exporter's own
    return text, _with_mentioned(where, _with_right(where, read) if text != said else read, text)


def _with_mentioned(where: ErrorIndex, evidence: ErrorEvidence, text: str) -> ErrorEvidence:
    """Where no sentence names an operator: the one whose failures alone are told so, or what is spelled as one is
    (``masked_select``, ``'item'``, ``ScatterND``). A text without any sentence, a dump alone, names none.
    """
    if evidence.operators or not evidence.reasons:
        return evidence
    told = [
        op for reason in evidence.reasons for _, ops in find_parts(where.sentences, normal(reason.text)) for op in ops
    ]
    told = told or [op for clause in sorted(evidence.clauses) if (op := where.operator_by_clause.get(clause))]
    if told:
        return replace(evidence, operators=tuple(dict.fromkeys(told)))
    if any(speaks_alike(evidence, item) for item in where.known):
        return evidence
    found = [match.group(match.lastindex or 0) for match in _MENTIONED.finditer(text)]
    found += [value[1] for name in found if (value := _VALUE.match(name))]
    found += OF_TORCH.findall("\n".join(reason.line for reason in evidence.reasons))
    known = [spelled(name) for name in found if operator_key(name) in where.by_operator]
    of_attributes = [op for name in read_attributes(text) for _, ops in where.sentences.get(name, ()) for op in ops]
    of_one = read_said(normal("\n".join(reason.text for reason in evidence.reasons)))
    return replace(evidence, operators=tuple(dict.fromkeys(of_one or known or of_attributes)))


def _with_warned(where: ErrorIndex, evidence: ErrorEvidence, text: str) -> ErrorEvidence:
    """Of a text that only warns, the functions of torch that the lines shown call: what they take or give is fixed."""
    if evidence.operators or not all(reason.warns for reason in evidence.reasons):
        return evidence
    of_torch = frozenset(evidence.called) & frozenset(OF_TORCH.findall(text))
    called = (name for name in evidence.called if name in of_torch and name not in _WORDS_TOO)
    known = dict.fromkeys(name for name in called if operator_key(name) in where.operators)
    return replace(evidence, operators=tuple(map(spelled, known)))


def _without_maker(where: ErrorIndex, evidence: ErrorEvidence) -> ErrorEvidence:
    """Of an attribute that is not constant the text names only what made it: told where a case ends with just that."""
    key = operator_key(evidence.operator) if evidence.operator else ""
    made = [reason for reason in evidence.reasons if _MADE_BY.search(reason.line)]
    known = any((reason.pattern, key) in where.cases_by_pattern for reason in made)
    return replace(evidence, operators=()) if made and not known else evidence


def _with_right(where: ErrorIndex, evidence: ErrorEvidence) -> ErrorEvidence:
    """Before an operator of torch that nobody knows the one that is meant: it is misspelt by a letter."""
    meant = _meant(where, evidence.operator) if evidence.operator.startswith("aten::") else ""
    return replace(evidence, operators=(meant, *evidence.operators)) if meant else evidence


def _meant(where: ErrorIndex, op: str) -> str:
    """The operator that one which nobody knows is but for a letter; nothing where it is none, or several."""
    key = operator_key(op)
    if len(key) < _LEAST_NAME or key in where.operators:
        return ""
    pattern = misspelt(key)
    near = [known for known in where.by_operator if pattern.search(known)]
    if len(near) != 1:
        return ""
    return next(op for entry in where.by_operator[near[0]] for op in entry.ops if operator_key(op) == near[0])


def add_named(where: ErrorIndex, evidence: ErrorEvidence, text: str) -> ErrorEvidence:
    """Where nothing else is known of a text: the operators that its words name (``torch.outer``, «unbind fails»). Of
    one without an exception all of its lines count.
    """
    lines = both_ends(text) if evidence.is_prose else "\n".join(reason.line for reason in evidence.reasons)
    of_torch = (
        name if operator_key(name) in where.operators else _meant(where, name) for name in OF_TORCH.findall(lines)
    )
    said = read_words(lines) if evidence.is_prose else _WORD.findall(lines)
    words = (word for word in (*_joined(lines), *said) if word not in _WORDS_TOO)
    of_code = (word for word in map(str.casefold, CODE_WORD.findall(lines)) if word not in _WORDS_TOO)
    known = [*filter(None, of_torch), *(word for word in words if operator_key(word) in where.by_operator)]
    known += [word for word in of_code if operator_key(word) in where.operators]
    return replace(evidence, operators=tuple(map(spelled, dict.fromkeys(known))))


def add_mentioned(where: ErrorIndex, evidence: ErrorEvidence, text: str) -> ErrorEvidence:
    """Where nothing else is known of a text: the operators whose names its code, its files and its nodes have."""
    every = where.operators | every_operator()
    known = (name for name in read_mentions(text, evidence) if operator_key(name) in every)
    return replace(evidence, operators=tuple(dict.fromkeys(map(spelled, known))))


def add_beside(where: ErrorIndex, evidence: ErrorEvidence, text: str) -> ErrorEvidence:
    """The operators that a text names besides: a library's own, those in its first line, in its code and its nodes, and
    those that the lines shown call. A sentence that says which operator fails needs no others, a dump alone has none.
    """
    raised = (reason for reason in evidence.reasons if reason.kind and not reason.warns)
    if not evidence.reasons or any(reason.names_operator for reason in raised):
        return evidence
    of_extension, known = read_of_extension(text), where.operators | operator_keys(node_names())
    title = text.strip().partition("\n")[0]
    said = (word for word in (*_joined(title), *read_words(title)) if operator_key(word) in where.by_operator)
    named = (*said, *read_mentions(text, evidence), *map(str.casefold, evidence.called))
    of_torch = (spelled(name) for name in named if operator_key(name) in known and not _is_word(name))
    told = operator_keys(evidence.operators)
    by_key: dict[str, str] = {}
    for op in (*of_extension, *of_torch):
        by_key.setdefault(operator_key(op), op)
    beside = tuple(op for key, op in by_key.items() if key not in told)
    return replace(evidence, beside=beside[: max(_MOST_NAMED - len(told), 0)])


def _is_word(name: str) -> bool:
    """Whether a name, as it is written, is a word of a sentence or of a heading, or a type, rather than an operator."""
    return name in _WORDS_TOO or bool(dtypes_of(name)) or (name.isupper() and name.casefold() in _WORDS_TOO)


def _joined(lines: str) -> Iterator[str]:
    """Each two to four words of a text as one name: «average pooling» as ``average_pool``."""
    words = _IN_PROSE.sub(lambda ending: _PROSE[ending[0]], lines.casefold()).replace("-", " ").split()
    for many in (4, 3, 2):
        yield from ("_".join(words[start : start + many]) for start in range(len(words) + 1 - many))
