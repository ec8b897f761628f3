"""A scikit-learn classifier for labels that are partly wrong."""
