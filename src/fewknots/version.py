"""Which fewknots this is: model files, graphs, reports and clusters say so."""

__version__ = "1.0.0"
