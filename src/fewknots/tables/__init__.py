"""Raw tables: columns of any type become numbers, and files become a model for such tables."""
