"""Reads the text of an extent, "4*B*S + floordiv(S, 2)": a graph tells nothing else of an expression's structure."""
import re

_FUNCTIONS = re.compile(r"(floordiv|mod|min|max)\(")
_NUMBER = re.compile(r"\d+")


def read(text, names, leaf, combine):
    """What `text` stands for, put together by leaf(name or int) and combine(operation, lhs, rhs).

    names: the symbols that it may have. None where the text has something else."""
    reader = _Reader(text, names, leaf, combine)
    try:
        out = reader.sum()
    except ValueError:
        return None
    return out if reader.at == len(text) else None


class _Reader:
    def __init__(self, text, names, leaf, combine):
        self.text, self.leaf, self.combine, self.at = text, leaf, combine, 0
        self.names = sorted(names, key=len, reverse=True)  # a name may begin like another

    def sum(self):
        negative = self.skip("-")
        out = self.term()
        if negative:
            out = self.combine("sub", self.leaf(0), out)
        while True:
            if self.skip(" + "):
                out = self.combine("add", out, self.term())
            elif self.skip(" - "):
                out = self.combine("sub", out, self.term())
            else:
                return out

    def term(self):
        out = self.factor()
        while self.skip("*"):
            out = self.combine("mul", out, self.factor())
        return out

    def factor(self):
        found = _FUNCTIONS.match(self.text, self.at)
        if found:
            self.at = found.end()
            lhs = self.sum()
            self.expect(", ")
            rhs = self.sum()
            self.expect(")")
            return self.combine(found.group(1), lhs, rhs)
        name = next((name for name in self.names if self.text.startswith(name, self.at)), None)
        if name is not None:
            self.at += len(name)
            return self.leaf(name)
        number = _NUMBER.match(self.text, self.at)
        if number is None:
            raise ValueError(self.text)
        self.at = number.end()
        return self.leaf(int(number.group()))

    def skip(self, text):
        found = self.text.startswith(text, self.at)
        self.at += len(text) * found
        return found

    def expect(self, text):
        if not self.skip(text):
            raise ValueError(self.text)
