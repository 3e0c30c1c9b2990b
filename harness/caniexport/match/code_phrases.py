"""Phrases of a question, in code or in words, and the operator or the part of a case's name that each means."""

from __future__ import annotations

import re

_NESTED = r"(?:[^()\n]|\((?:[^()\n]|\([^()\n]*\))*\))*"
_IN = r"\bfor\s+\w+(?:\s*,\s*\w+)*\s+in"
#: what stands behind a word that means an operator there: tensors, their types, an axis
_OF_TENSORS = (
    r"(?=(?:an?\s+|the\s+|two\s+|three\s+|several\s+|large\s+)*"
    r"(?:float|half|halves|bf16|bfloat|fp16|int|uint|long|bool|tensor|mask|dim\b|ax[ie]s\b))"
)
#: what is spelled with parts of cases' names: loops over a number of rounds, over a tensor, until something is so;
#: attributes that are written; inputs that are no tensors, have no elements or are handed through
PHRASES = (
    (re.compile(rf"{_IN}\s+(?:range|enumerate)\({_NESTED}[A-Za-z]{_NESTED}\)\s*:?"), "trip-count"),
    (re.compile(rf"{_IN}\s+range\([\s\d,]*\)\s*:?"), "python loop"),
    (re.compile(rf"{_IN}\s+[A-Za-z_][\w.]*\s*:"), "iterating tensor"),
    (re.compile(rf"\brange\({_NESTED}[A-Za-z]{_NESTED}\)"), "trip-count"),
    (re.compile(rf"\bwhile\s+(?:not\s+)?\w[\w.]*(?:\({_NESTED}\))?\s*(?:[<>!=]=?\s*[\w.]+)?\s*:"), "trip-count"),
    (re.compile(r"\bhalf(?=\s+(?:the|a|of|its|size|sizes|width|height|length)\b)"), "by-half"),
    (re.compile(r"\b(?:loop|iteration)\s+counts?\b|\bnumber\s+of\s+(?:iterations|rounds)\b"), "trip-count"),
    (re.compile(r"\bself\.\w+\s*[-+*/]=\s*[\w.]*"), "running-total"),
    (re.compile(r"\bself\.\w+\s*=(?!=)(?!\s*(?:torch\.)?nn\.)"), "running-total attribute-mutated"),
    (re.compile(r"\bstring\s+(?:argument|input|parameter)s?\b", re.IGNORECASE), "string-chooses"),
    (
        re.compile(
            r"\bpython\s+(?:float|int|number|scalar|bool)s?\s+(?:as\s+(?:an?\s+)?)?(?:argument|input|parameter)s?\b"
            r"|\btakes?\s+(?:an?\s+)?python\s+(?:float|int|number|scalar|bool)s?\b"
            r"(?:\s+(?:as\s+(?:an?\s+)?)?(?:argument|input|parameter)s?\b)?"
            r"|\b(?:number|scalar)\s+(?:argument|input|parameter)s?\b",
            re.IGNORECASE,
        ),
        "python-number-inputs",
    ),
    (re.compile(r"\bpython\s+(?:float|int|number|scalar|bool)s?\b", re.IGNORECASE), "python number"),
    (
        re.compile(
            r"\b(?:return(?:s|ed|ing)?|hand(?:s|ed|ing)?)\s+(?:back\s+)?(?:the|an?|its)\s+inputs?\s+"
            r"(?:unchanged|itself|through|as\s+(?:it\s+)?is|directly)\b",
            re.IGNORECASE,
        ),
        "input-handed-through",
    ),
    *(
        (re.compile(rf"\b(?:{said})\s+(?:of|over|along)\s+{_OF_TENSORS}", re.IGNORECASE), function)
        for said, function in (
            ("sum", "torch.sum"),
            ("product", "torch.prod"),
            ("mean|average", "torch.mean"),
            ("min|minimum", "torch.min"),
            ("max|maximum", "torch.max"),
        )
    ),
    *(
        (re.compile(rf"\b{said}\s+{_OF_TENSORS}", re.IGNORECASE), function)
        for said, function in (
            ("add(?:ing)?", "torch.add"),
            ("subtract(?:ing)?", "torch.sub"),
            ("multiply(?:ing)?", "torch.mul"),
            ("divid(?:e|ing)", "torch.div"),
        )
    ),
    *(
        (re.compile(rf"(?<=\w)\s+(?:{said})\b(?:\s+-?\d[\d.]*(?![\w.]))?", re.IGNORECASE), function)
        for said, function in (
            (r"divided\s+by", "torch.div"),
            (r"multiplied\s+(?:by|with)", "torch.mul"),
            (r"raised\s+to(?:\s+the\s+power(?:\s+of)?)?", "torch.pow"),
            (r"modulo", "torch.remainder"),
        )
    ),
    (
        re.compile(
            r"\bbool(?:ean)?\s+mask\s+index(?:ing)?\b|\bindex(?:ing|ed)?\s+(?:with|by)\s+(?:an?\s+)?(?:bool(?:ean)?\s+)?mask\b",
            re.IGNORECASE,
        ),
        "torch.masked_select mask",
    ),
    (
        re.compile(r"\bcomplex(?:[- ]valued)?\s+(?=(?:tensors?|inputs?|numbers?|values?|dtypes?)\b)", re.IGNORECASE),
        "complex64",
    ),
    (re.compile(r"\bmax(?:imum|imal)?\s+opset\b", re.IGNORECASE), "highest opset"),
    (re.compile(r"\b(?:min(?:imum|imal)?|smallest)\s+(?:onnx\s+)?opset\b", re.IGNORECASE), "lowest opset"),
    (re.compile(r"\bvariable[- ](?:(?!batch)\w+\s+)?(?:sizes?|shapes?|resolutions?)\b", re.IGNORECASE), "dynamic size"),
    (re.compile(r"(?:^|(?<=[(=,:]))\s*\d[\d.]*\s+[-+/]\s+(?=[a-z])"), "x - "),
    (re.compile(r"\bOptional\[[^\[\]\n]*\]"), "optional"),
    (re.compile(r"\bvariable[- ](?:sequence\s+)?lengths?\b", re.IGNORECASE), "dynamic length"),
    # a number before a sign is no release
    (re.compile(r"(?<![\w.:/-])\d[\d.]*(?=\s*(?://|\*\*|[*@])\s*[a-z])"), "x"),
    (
        re.compile(
            r"\bempty\s+(?:tensors?|dim\w*|batch(?:es)?|inputs?|lists?|ax[ie]s|slices?|box(?:es)?)\b"
            r"|\b(?:zero|no)[- ](?:sized?|elements?|rows?|boxes)\b",
            re.IGNORECASE,
        ),
        "zero-size",
    ),
)
