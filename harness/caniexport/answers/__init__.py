"""Answers: functions from a dataset to an :class:`~caniexport.answers.answer.Answer`. Nothing here prints or writes.

Every function raises :class:`caniexport.model.errors.UnknownName` for a case, release, opset, exporter, provider,
theme or operator that nobody knows, with the nearest known ones.
"""
