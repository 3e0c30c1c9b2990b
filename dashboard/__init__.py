"""The dashboard: pages over :mod:`harness.answers`, drawn with Streamlit. It reads the dataset and never writes."""
