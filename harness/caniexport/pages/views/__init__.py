"""The pages, each a function from the parameters of its address and the dataset."""
