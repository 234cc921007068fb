"""Models around recurrent layers: CRNN, which reads lines of text, and GRU4Rec, which recommends the next item."""
from torch import nn
from torch.nn import functional
from torch.nn.utils import rnn

from catalog import Input, model, token_shapes
from weights import randomize


class Crnn(nn.Module):
    """The CRNN of Shi et al.: convolutions that reduce a line of 32 rows to one, then two bidirectional LSTMs."""
    _HALVED, _ROWS_HALVED = (2, 2), (2, (2, 1), (0, 1))  # kernel, stride, padding
    _POOLS = (_HALVED, _HALVED, None, _ROWS_HALVED, None, _ROWS_HALVED, None)

    def __init__(self, channels, hidden, classes):
        super().__init__()
        layers, inner = [], 1
        for i, outer in enumerate(channels):
            last = i == len(channels) - 1
            layers += [nn.Conv2d(inner, outer, 2 if last else 3, padding=0 if last else 1)]
            layers += [nn.BatchNorm2d(outer)] if i in (4, 5, 6) else []
            layers += [nn.ReLU()]
            layers += [nn.MaxPool2d(*self._POOLS[i])] if self._POOLS[i] else []
            inner = outer
        self.convolutions = nn.Sequential(*layers)
        self.first = nn.LSTM(inner, hidden, bidirectional=True)
        self.second = nn.LSTM(2 * hidden, hidden, bidirectional=True)
        self.classify = nn.Linear(2 * hidden, classes)

    def forward(self, image):
        columns = self.convolutions(image).squeeze(2).permute(2, 0, 1)
        columns, _ = self.second(self.first(columns)[0])
        return functional.log_softmax(self.classify(columns), dim=-1)


@model("crnn", "batch width", (2, 64), ((1, 8), (1, 33), (2, 16), (3, 46), (5, 35), (1, 193), (2, 98), (4, 130)))
def crnn(width):
    if width == "narrow":
        module = Crnn((8, 8, 16, 16, 16, 16, 16), 12, 11)
    else:
        module = Crnn((64, 128, 256, 256, 512, 512, 512), 256, 37)
    return randomize(module), [Input("image", "float32", ("batch", 1, 32, "width"))]


class Gru4Rec(nn.Module):
    """The GRU4Rec of Hidasi et al.: scores of all items after a session of items, padded at its end."""
    def __init__(self, items, embedded, hidden):
        super().__init__()
        self.items = nn.Embedding(items, embedded)
        self.gru = nn.GRU(embedded, hidden, num_layers=2, batch_first=True)
        self.project = nn.Linear(hidden, embedded)

    def forward(self, session, mask):
        states, _ = self.gru(self.items(session))
        last = (mask.sum(1) - 1).reshape(-1, 1, 1).expand(-1, 1, states.shape[2])
        return self.project(states.gather(1, last).squeeze(1)) @ self.items.weight.T


_SESSIONS = [Input("session", "int64", ("batch", "sequence"), 50),
             Input("mask", "int64", ("batch", "sequence"), "mask")]


def _sizes(width):
    """Items, and sizes of their embeddings and of the states."""
    return (50, 12, 16) if width == "narrow" else (10000, 100, 100)


@model("gru4rec", "batch sequence", (2, 12), token_shapes())
def gru4rec(width):
    return randomize(Gru4Rec(*_sizes(width))), _SESSIONS


class PackedGru4Rec(Gru4Rec):
    """GRU4Rec that leaves the padding out: sessions are sorted by length and packed."""
    def forward(self, session, mask):
        packed = rnn.pack_padded_sequence(self.items(session), mask.sum(1), batch_first=True, enforce_sorted=False)
        _, last = self.gru(packed)
        return self.project(last[-1]) @ self.items.weight.T


@model("gru4rec_packed", "batch sequence", (2, 12), token_shapes(), exporters=("legacy",))
def gru4rec_packed(width):
    return randomize(PackedGru4Rec(*_sizes(width))), _SESSIONS
