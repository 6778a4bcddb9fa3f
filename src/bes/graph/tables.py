"""Named columns of cells, from a CSV file or a DataFrame, that can say where each cell stands."""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bes.errors import InputError

#: A column: text, or None where there is no value.
Cells = list[str | None]

_ZIP, _OLD_EXCEL, _UTF16 = b"PK\x03\x04", b"\xd0\xcf\x11\xe0", (b"\xff\xfe", b"\xfe\xff")
_MARKS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_QUOTED = re.compile(r'(?:^|(?<=[,;\t\r\n]))"(?:[^"]|"")*"')  # a quote within a cell is one of its letters
_HEADER = 100_000  # so many letters are looked at for what separates
_SHOWN = 30  # so many columns are listed in a message
_BLOCK = 4096  # so many rows are turned into columns at a time
_COMPARED = 50_000  # so many words are compared in search of the nearest


@dataclass(frozen=True)
class Table:
    """Columns of equal length.

    Attributes:
        what: What the table is called: its path, or such as "the nodes".
        columns: The cells of each column by its name, in order.
        places: Where each row stands, such as its line.
        row, column: What rows and columns are called; a row is a `line` in a file only.
        notes: What was seen while reading, a sentence each.
        categorical: Columns that are categories by their type, whatever their cells look like.
        numeric: Columns in which a -1 is a number, where their type tells that from text.
    """

    what: str
    columns: dict[str, Cells]
    places: Sequence[object]
    row: str = "line"
    column: str = "column"
    notes: tuple[str, ...] = ()
    categorical: frozenset[str] = frozenset()
    numeric: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.places)

    @property
    def header(self) -> list[str]:
        return list(self.columns)

    def at(self, row: int, column: str) -> str:
        """The place of a cell, for messages."""
        return f"{self.row} {self.places[row]}, {self.column} {column!r} of {self.what}"

    def cells(self, name: str) -> Cells:
        """The column `name`; where there is none, the message lists those there are."""
        if name in self.columns:
            return self.columns[name]
        found = ", ".join(map(repr, self.header[:_SHOWN])) + (", ..." if len(self.columns) > _SHOWN else "")
        close = nearest_word(name, self.columns)
        end = f"name one of its {self.column}s."
        if close is not None:
            end = f"did you mean {close!r}?"
        elif self.row == "line" and any(number(cell) is not None for cell in self.columns):
            end = "name one of these, or put the columns' names above its first line if that is data."
        raise InputError(f"There is no {self.column} {name!r} in {self.what}, which has {found or 'none'}: {end}")

    def distinct(self, *names: str | None) -> None:
        """Refuse a column that is not there, and one column in two roles."""
        given = [name for name in names if name is not None]
        for name in given:
            self.cells(name)
            if given.count(name) > 1:
                raise InputError(
                    f"The {self.column} {name!r} of {self.what} is to be two things at once: name another one for the "
                    f"ids (the first {self.column} unless named) or for the other."
                )


def read_table(path: str | Path) -> Table:
    """The file at `path` with a header, in UTF-8: separated by tabs if it ends in `.tsv`, else by commas.

    Where semicolons or tabs are more often in the header than commas, quoted text aside, those are what separates.
    """
    if not isinstance(path, (str, Path)):
        raise InputError(f"A {type(path).__name__} was given for a CSV file: give a path, or use from_pandas.")
    path = Path(path).expanduser()
    text = _text(path)
    mark, notes = _delimiter(path, text)
    header, columns, lines = _columns(path, text, mark)
    return make_table(str(path), header, columns, lines, "line", notes)


def text_of(value: object) -> str | None:
    """A value as the text of a cell; None for what means that there is none."""
    if not isinstance(value, (str, int, float)):  # numpy's, torch's and pandas' own
        value = value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else value
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            return None
    if isinstance(value, float):
        if value != value:
            return None
        value = int(value) if value.is_integer() and abs(value) < 2**53 else value
    return _cell(value.decode(errors="replace") if isinstance(value, bytes) else str(value))


def as_name(name: object) -> str | None:
    """The name of a column as text, as which columns are known here: in a DataFrame it may be a number."""
    return None if name is None else str(name)


def is_nested(value: object) -> bool:
    """Whether this is several values, or none that a cell can hold."""
    if isinstance(value, (str, int, float)):
        return False
    return isinstance(value, (list, tuple, set, dict)) or getattr(value, "ndim", 0) > 0


def number(cell: str) -> float | None:
    """The number in `cell`; what only Python reads as one, as 1_000, is text."""
    try:
        return float(cell) if cell.isascii() and "_" not in cell else None
    except ValueError:
        return None


def nearest_word(word: str, words: Collection[str]) -> str | None:
    """Which of `words` was most likely meant by `word`, if any."""
    for same in (str.strip, lambda text: text.strip().casefold(), number):
        form = same(word)
        found = None if form is None else next((other for other in words if same(other) == form), None)
        if found is not None:
            return found
    if number(word) is not None:  # of numbers, those with similar digits are no nearer than others
        return None
    near = [other for other in words if abs(len(other) - len(word)) <= 2][:_COMPARED]
    return next(iter(difflib.get_close_matches(word, near, n=1, cutoff=0.75)), None)


def make_table(
    what: str, header: list[str], columns: Iterable[Cells], places: Sequence[object], row: str, notes: list[str]
) -> Table:
    """A table, after a check that no two columns have one name."""
    # spreadsheets end lines with separators of columns that were never there
    kept = [(name, cells) for name, cells in zip(header, columns, strict=True) if name or any(cells)]
    name, count = Counter(name for name, _ in kept).most_common(1)[0] if kept else ("", 0)
    if count > 1:
        raise InputError(f"The header of {what} has the column {name!r} twice: rename one.")
    return Table(what, dict(kept), places, row, notes=tuple(notes))


def _columns(path: Path, text: str, mark: str) -> tuple[list[str], list[Cells], list[int]]:
    """The header, the cells of each column, and the line at which each row begins."""
    columns: list[Cells] = []
    header: list[str] = []
    lines: list[int] = []
    for rows, begins in _blocks(path, text, mark):
        if not header:
            header = [cell.strip() for cell in rows.pop(0)]
            columns = [[] for _ in header]
            begins.pop(0)
        if set(map(len, rows)) - {len(header)}:
            cells, line = next(pair for pair in zip(rows, begins, strict=True) if len(pair[0]) != len(header))
            raise InputError(
                f"Line {line} of {path} has {len(cells)} cells, but the header has {len(header)} columns: "
                f"separate them by {_MARKS[mark]} and quote text that holds one."
            )
        for column, block in zip(columns, zip(*rows, strict=True), strict=False):
            column += [cell if cell and not cell.isspace() else None for cell in block]
        lines += begins
    if not header:
        raise InputError(f"The file {path} is empty: give a header and rows.")
    return header, columns, lines


def _blocks(path: Path, text: str, mark: str) -> Iterator[tuple[list[list[str]], list[int]]]:
    """The rows that hold something and the line at which each begins, some thousand at a time.

    So many lists kept at once would have the garbage collector look at all of them again and again.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    end = 0
    try:
        for cells in reader:
            begin, end = end + 1, reader.line_num  # a quoted cell may run over several lines
            if any(map(str.strip, cells)):
                rows.append(cells)
                lines.append(begin)
            if len(rows) == _BLOCK:
                yield rows, lines
                rows, lines = [], []
    except csv.Error as error:
        raise InputError(f"Line {reader.line_num} of {path} is not valid CSV ({error}): check its quotes.") from error
    if rows:
        yield rows, lines


def _text(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"The file {path} cannot be read ({error.strerror}): give the path of a CSV file.") from error
    if raw.startswith((_ZIP, _OLD_EXCEL)):
        raise InputError(
            f"The file {path} is an Excel workbook or another archive, whatever its name: "
            "open it in the spreadsheet program and save it as CSV in UTF-8."
        )
    try:
        return raw.decode("utf-16" if raw.startswith(_UTF16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise InputError(
            f"Line {line} of {path} is not UTF-8 but perhaps Windows' own encoding (cp1252): "
            'save the file as CSV in UTF-8, which Excel calls "CSV UTF-8".'
        ) from error


def _delimiter(path: Path, text: str) -> tuple[str, list[str]]:
    if path.suffix.lower() in (".tsv", ".tab"):
        return "\t", []
    unquoted = _QUOTED.sub("quoted", text.lstrip("\r\n")[:_HEADER])
    lines = re.split(r"[\r\n]+", unquoted)
    header = next((line for line in lines if line.strip(" \t,;")), "")  # lines that hold nothing are read over
    mark = max(_MARKS, key=header.count)
    return mark, [] if mark == "," else [f"The columns of {path} are separated by {_MARKS[mark]}: they were read so."]


def _cell(text: str) -> str | None:
    return text if text and not text.isspace() else None
