"""Writes tables as CSV, with quotes only where a text needs them.

pyarrow's own writer puts quotes around every text. In a table that was read from a CSV all cells
are text, and they should look the same when they are written again.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from .csv_dialect import Dialect


class CsvWriter:
    """Writes pieces of a table, which have the same columns, one after the other.

    Always in UTF-8, with a byte order mark if the dialect's encoding has one.
    """

    def __init__(self, path: Path, schema: pa.Schema, dialect: Dialect) -> None:
        self._dialect = dialect
        self._file = path.open("w", encoding="utf-8", newline="")
        if dialect.encoding in ("utf-8-sig", "utf-16", "utf-32"):
            self._file.write("\ufeff")
        names = pa.table([pa.array([name]) for name in schema.names], names=schema.names)
        self.write_table(names)

    def write_table(self, piece: pa.Table) -> None:
        """Write some rows."""
        columns = [self._written(column.combine_chunks()) for column in piece.columns]
        if len(columns) == 1:  # an empty line would not count as a row
            empty = pc.equal(columns[0], "")
            columns = [pc.if_else(empty, self._dialect.quote * 2, columns[0])]
        lines = pc.binary_join_element_wise(*columns, pa.scalar(self._dialect.separator, _TEXT))
        self._file.writelines(f"{line}\n" for line in lines.to_pylist())

    def close(self) -> None:
        """No more rows."""
        self._file.close()

    def _written(self, column: pa.Array) -> pa.Array:
        text = column.cast(_TEXT).fill_null("")
        if pa.types.is_floating(column.type) and self._dialect.decimal != ".":
            text = pc.replace_substring(text, ".", self._dialect.decimal)
        quote = self._dialect.quote
        special = "".join(
            f"\\x{ord(letter):02x}" for letter in f"{self._dialect.separator}{quote}\r\n"
        )
        needs = pc.match_substring_regex(text, f"[{special}]")
        if not pc.any(needs).as_py():
            return text
        inside = pc.replace_substring(text, quote, quote * 2)
        mark = pa.scalar(quote, _TEXT)
        quoted = pc.binary_join_element_wise(mark, inside, mark, pa.scalar("", _TEXT))
        return pc.if_else(needs, quoted, text)


_TEXT = pa.large_string()
