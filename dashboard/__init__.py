"""The dashboard: pages over :mod:`caniexport.answers`, drawn with Streamlit. It reads the dataset and never writes."""
