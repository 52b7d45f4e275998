"""Safety: escape forged markup, mask secrets, and detect instructions to a model. No Django."""
