"""The errors of the project, one tree.

::

    CaniexportError            everything we raise on purpose; the message is for a person
    |-- CorpusError            a case file that cannot be used (names the file and the case)
    |-- UnknownName            a case, release, filter nobody knows (names the nearest known ones)
    |-- EnvironmentUnavailable a release that cannot be installed or entered here
    `-- StoreError             a dataset that cannot be read or written
        |-- DiskFull           no space left; what was measured is intact
        `-- SchemaMismatch     written by another version of the row contract
"""

from __future__ import annotations


class CaniexportError(Exception):
    """Base of every error that is raised on purpose."""


class CorpusError(CaniexportError):
    """A case file that cannot be used."""


class UnknownName(CaniexportError):
    """A name that nobody knows; the message carries the nearest known ones."""


class EnvironmentUnavailable(CaniexportError):
    """A release that cannot be installed or entered on this machine."""


class StoreError(CaniexportError):
    """A dataset that cannot be read or written."""


class DiskFull(StoreError):
    """No space left on the device; everything written before is intact."""


class SchemaMismatch(StoreError):
    """Rows written under another version of the row contract."""
