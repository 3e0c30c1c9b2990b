"""One cell as one file: a script with exact pins that shows it with torch, onnx and onnxruntime alone.

:func:`caniexport.reproduce.write.script` is pure and needs no torch; :func:`caniexport.reproduce.find.reproduction`
finds the cell in a dataset first.
"""
