"""The one way through a fit, whatever the rows are kept in."""
