"""Answers for a terminal, a page, a program, a spreadsheet and a notebook: one renderer for each."""
