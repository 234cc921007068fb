"""A training step as a graph: forward, gradients and update, against central differences of the loss in float64."""
import unittest

import numpy as np

import tailor

VOCABULARY, WIDTH, HIDDEN, CLASSES = 7, 6, 10, 3
RATE, EPSILON = 0.5, 1e-5
SHAPES = {
    "embedding": (VOCABULARY, WIDTH), "gain": (WIDTH,), "bias": (WIDTH,),
    "query": (WIDTH, WIDTH), "key": (WIDTH, WIDTH), "value": (WIDTH, WIDTH), "project": (WIDTH, WIDTH),
    "hide": (WIDTH, HIDDEN), "classify": (HIDDEN, CLASSES),
}


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def loss_of(weights, tokens, labels):
    w = weights
    h = w["embedding"][tokens]
    centered = h - h.mean(-1, keepdims=True)
    n = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + EPSILON) * w["gain"] + w["bias"]
    scores = (n @ w["query"]) @ (n @ w["key"]).swapaxes(-1, -2) / np.sqrt(WIDTH)
    mixed = h + softmax(scores) @ (n @ w["value"]) @ w["project"]
    logits = np.tanh(mixed.mean(1) @ w["hide"]) @ w["classify"]
    return -np.log(softmax(logits)[np.arange(len(labels)), labels]).mean()


def differences(weights, tokens, labels, step=1e-5):
    """d loss / d weight by central differences."""
    gradients = {}
    for name, weight in weights.items():
        gradients[name] = np.zeros_like(weight)
        for i in np.ndindex(weight.shape):
            kept = weight[i]
            weight[i] = kept + step
            above = loss_of(weights, tokens, labels)
            weight[i] = kept - step
            gradients[name][i] = (above - loss_of(weights, tokens, labels)) / (2 * step)
            weight[i] = kept
    return gradients


def training_step():
    """Inputs: weights f32, tokens i64[B, S], labels i64[B]. Outputs: loss, then the next weights."""
    graph = tailor.Graph("training-step")
    w = {name: graph.input(name, "f32", shape) for name, shape in SHAPES.items()}
    batch, length = tailor.symbol("B"), tailor.symbol("S")
    tokens = graph.input("tokens", "i64", [batch, length])
    labels = graph.input("labels", "i64", [batch])
    rows = batch * length

    def flatten(x):
        return x.reshape([rows, WIDTH])

    def unflatten(x):
        return x.reshape([batch, length, WIDTH])

    # Forward.
    h = w["embedding"].gather(tokens)
    centered = h - h.reduce_mean([-1], keep_dims=1)
    rstd = ((centered * centered).reduce_mean([-1], keep_dims=1) + EPSILON).rsqrt()
    unit = centered * rstd
    n = flatten(unit * w["gain"] + w["bias"])
    query, key, value = (unflatten(n @ w[name]) for name in ("query", "key", "value"))
    scale = float(1 / np.sqrt(WIDTH))
    probabilities = (query.dot(key, transpose_rhs=1) * scale).softmax()
    attended = probabilities @ value
    mixed = h + unflatten(flatten(attended) @ w["project"])
    pooled = mixed.reduce_mean([1])
    hidden = (pooled @ w["hide"]).tanh()
    predicted = (hidden @ w["classify"]).softmax()
    target = labels.reshape([batch, 1]).eq(graph.iota([1, CLASSES], 1, "i64")).cast("f32")
    loss = -(predicted.log() * target).reduce_sum([-1]).reduce_mean([0])

    # Gradients, from the loss back.
    count = graph.constant(np.float32(1)).broadcast([batch]).reduce_sum([0])
    d_logits = (predicted - target) / count
    d_hidden = d_logits.dot(w["classify"], transpose_rhs=1) * (1 - hidden * hidden)
    d_pooled = d_hidden.dot(w["hide"], transpose_rhs=1)
    steps = graph.constant(np.float32(1)).broadcast([length]).reduce_sum([0])
    d_mixed = (d_pooled / steps).reshape([batch, 1, WIDTH]).broadcast([batch, length, WIDTH])
    d_attended = unflatten(flatten(d_mixed).dot(w["project"], transpose_rhs=1))
    d_probabilities = d_attended.dot(value, transpose_rhs=1)
    d_sum = (d_probabilities * probabilities).reduce_sum([-1], keep_dims=1)
    d_scores = probabilities * (d_probabilities - d_sum) * scale
    d_rows = {"query": flatten(d_scores @ key), "key": flatten(d_scores.dot(query, transpose_lhs=1)),
              "value": flatten(probabilities.dot(d_attended, transpose_lhs=1))}
    d_n = sum(d_rows[name].dot(w[name], transpose_rhs=1) for name in ("query", "key", "value"))
    d_unit = unflatten(d_n) * w["gain"]
    d_h = d_mixed + rstd * (d_unit - d_unit.reduce_mean([-1], keep_dims=1)
                            - unit * (d_unit * unit).reduce_mean([-1], keep_dims=1))
    zeros = graph.constant(np.zeros(SHAPES["embedding"], np.float32))
    gradients = {
        "embedding": zeros.scatter(tokens.reshape([rows, 1]), flatten(d_h), "add"),
        "gain": (d_n * flatten(unit)).reduce_sum([0]),
        "bias": d_n.reduce_sum([0]),
        **{name: n.dot(d, transpose_lhs=1) for name, d in d_rows.items()},
        "project": flatten(attended).dot(flatten(d_mixed), transpose_lhs=1),
        "hide": pooled.dot(d_hidden, transpose_lhs=1),
        "classify": hidden.dot(d_logits, transpose_lhs=1),
    }
    graph.output("loss", loss)
    for name in SHAPES:
        graph.output("next_" + name, w[name] - gradients[name] * RATE)
    return graph


class TrainingTest(unittest.TestCase):
    """BladeDISC 7.1.3 and AStitch section 6: a training step is a graph like any other."""

    @classmethod
    def setUpClass(cls):
        cls.executable = training_step().compile("host")

    @staticmethod
    def weights(seed=3):
        rng = np.random.default_rng(seed)
        return {name: rng.standard_normal(shape) * 0.5 + (name == "gain") for name, shape in SHAPES.items()}

    def test_gradients_are_those_of_the_loss(self):
        weights = self.weights()
        rng = np.random.default_rng(4)
        for batch, length in ((1, 1), (2, 5), (5, 3), (17, 2)):
            with self.subTest(batch=batch, length=length):
                tokens = rng.integers(0, VOCABULARY, (batch, length))
                labels = rng.integers(0, CLASSES, batch)
                before = [weight.astype(np.float32) for weight in weights.values()]
                loss, *after = self.executable.run(*before, tokens, labels)
                np.testing.assert_allclose(loss, loss_of(weights, tokens, labels), rtol=1e-5)
                expected = differences(weights, tokens, labels)
                for name, old, new in zip(weights, before, after):
                    np.testing.assert_allclose((old - new) / RATE, expected[name], atol=3e-6, err_msg=name)

    def test_a_few_steps_learn_the_labels(self):
        tokens = np.arange(VOCABULARY * 2).reshape(-1, 2) % VOCABULARY
        labels = tokens[:, 0] % CLASSES
        weights = [weight.astype(np.float32) for weight in self.weights(5).values()]
        session = self.executable.session()
        losses = []
        for _ in range(200):
            loss, *weights = session.run(*weights, tokens, labels)
            weights = [np.array(weight) for weight in weights]
            losses.append(float(loss))
        self.assertGreater(losses[0], 0.7)
        self.assertLess(losses[-1], 0.05)


if __name__ == "__main__":
    unittest.main()
