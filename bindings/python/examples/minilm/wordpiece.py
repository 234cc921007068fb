"""A WordPiece tokenizer for uncased BERT vocabularies, with no dependency."""
from __future__ import annotations

import pathlib
import unicodedata
from collections.abc import Iterable

PAD, UNKNOWN, CLS, SEP = "[PAD]", "[UNK]", "[CLS]", "[SEP]"
LONGEST_WORD = 100


def _is_punctuation(c: str) -> bool:
    code = ord(c)
    return (33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
            or unicodedata.category(c).startswith("P"))


def _is_ideograph(c: str) -> bool:
    code = ord(c)
    return (0x4E00 <= code <= 0x9FFF or 0x3400 <= code <= 0x4DBF or 0xF900 <= code <= 0xFAFF
            or 0x20000 <= code <= 0x2CEAF or 0x2F800 <= code <= 0x2FA1F)


def words(text: str) -> list[str]:
    """Lower-case words without accents; punctuation marks and ideographs stand alone."""
    spaced = []
    for c in text:
        if c in "\t\n\r" or unicodedata.category(c) == "Zs":
            spaced.append(" ")
        elif unicodedata.category(c).startswith("C") or c == "\ufffd":
            continue
        else:
            spaced.append(f" {c} " if _is_ideograph(c) else c)
    plain = unicodedata.normalize("NFD", "".join(spaced).lower())
    plain = "".join(c for c in plain if unicodedata.category(c) != "Mn")
    return "".join(f" {c} " if _is_punctuation(c) else c for c in plain).split()


class WordPiece:
    """A tokenizer of one vocabulary."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        """`vocabulary`: the pieces in the order of their numbers."""
        self._ids = {piece: i for i, piece in enumerate(vocabulary)}
        self.pad = self._ids[PAD]

    @classmethod
    def from_file(cls, path: pathlib.Path) -> WordPiece:
        """A tokenizer of a vocabulary file, one piece a line."""
        with open(path, encoding="utf-8") as file:
            return cls([line.rstrip("\n") for line in file])

    def pieces(self, word: str) -> list[str]:
        """The longest known pieces from left to right; one [UNK] if some part has none."""
        if len(word) > LONGEST_WORD:
            return [UNKNOWN]
        result: list[str] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            end = next((e for e in range(len(word), start, -1) if prefix + word[start:e] in self._ids), None)
            if end is None:
                return [UNKNOWN]
            result.append(prefix + word[start:end])
            start = end
        return result

    def encode(self, text: str, length: int = 512) -> list[int]:
        """Piece numbers with [CLS] and [SEP] around, at most `length`."""
        pieces = [piece for word in words(text) for piece in self.pieces(word)]
        return [self._ids[piece] for piece in [CLS, *pieces[:length - 2], SEP]]
