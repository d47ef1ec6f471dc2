"""Loading model files for commands that work on tables."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..tables.model import TableModel


def load_table_model(path: Path) -> "TableModel":
    """Load a model that can read tables; any other model is an error."""
    from ..exceptions import ModelFileError
    from ..loading import load
    from ..tables.model import TableModel

    model = load(path)
    if not isinstance(model, TableModel):
        raise ModelFileError(
            f"{path} was saved in Python and holds no recipe for the columns of a table. Use it in "
            "Python with fewknots.load, or fit again with 'fewknots fit'."
        )
    return model
