"""``workaround --scan``: version gates and workarounds in a source tree, held against what was measured.

``files`` reads the tree, ``pins`` the versions that a project names. ``sites`` lists the places that rows may speak to:
``gates`` are comparisons with torch's version, ``rules`` export rules, ``branches`` branches on exporting, ``exports``
export calls, ``copies`` copies of a workaround of the corpus. ``project`` chooses exporter and opset, ``judge`` says
what the rows say of each place. Everything rests on the structure of code; comments and docstrings are not read.
"""
