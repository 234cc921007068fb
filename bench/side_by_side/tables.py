"""Tables beside that of the rows: many columns for one subject."""
import dataclasses

from .report import number


@dataclasses.dataclass(frozen=True)
class Table:
    """A cell is a text, a number, or None where there is no value."""
    title: str
    headings: tuple
    rows: list

    def as_json(self):
        return dataclasses.asdict(self)

    def markdown(self):
        cells = [list(self.headings), ["---"] * len(self.headings), *map(texts, self.rows)]
        return "\n".join([f"{self.title}:", "", *("| " + " | ".join(row) + " |" for row in cells)])

    def text(self):
        cells = [list(self.headings), *map(texts, self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = ["  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))])
                 for row in cells]
        return "\n".join([self.title, *(line.rstrip() for line in lines)])


def texts(row):
    return ["-" if cell is None else cell if isinstance(cell, str) else number(cell) for cell in row]
