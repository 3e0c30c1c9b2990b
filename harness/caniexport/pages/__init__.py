"""Pages as HTML: pure functions of the dataset."""
