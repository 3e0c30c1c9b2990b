"""The pages: one module each, with one function ``page`` that draws it from the URL and the dataset."""
