"""One cell as one file: a script with exact pins that shows it with torch, onnx and onnxruntime alone.

:mod:`caniexport.reproduce.find` finds the cell in a dataset, :mod:`caniexport.reproduce.write` writes its script.
"""
