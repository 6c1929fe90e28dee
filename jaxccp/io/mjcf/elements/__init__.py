"""Elements of a model file, and the parts of a model that they become."""
