"""Tables as they are: raw columns become numbers, files become a model that takes such tables."""
