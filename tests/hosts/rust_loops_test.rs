//! Loops, branches and their builders, built and run from Rust.

use tailor::graph::{Activation, Graph, Recurrence, Unique, Value};
use tailor::{dims, Bool, DType, Error, ErrorCode, Result, Session, Tensor};

fn compiled(graph: &Graph) -> Session {
    graph.compile().unwrap().session(1).unwrap()
}

fn output_all(graph: &Graph, values: &[Value<'_>]) -> Result<()> {
    values.iter().enumerate().try_for_each(|(i, &value)| graph.output(&i.to_string(), value))
}

fn message_of<T>(result: Result<T>) -> String {
    let Error { code, message, .. } = result.err().expect("an error");
    assert_eq!(code, ErrorCode::InvalidArgument, "{}", message);
    message
}

/// A region of a count and a vector f32[N].
fn region(build: impl FnOnce(&Graph, Value<'_>, Value<'_>) -> Result<()>) -> Result<Graph> {
    let graph = Graph::new("region")?;
    let i = graph.input("i", DType::I64, &[])?;
    let x = graph.input("x", DType::F32, &dims![graph.symbol("N")?])?;
    build(&graph, i, x)?;
    Ok(graph)
}

#[test]
fn a_loop_runs_its_body_while_its_condition_holds() {
    let condition = region(|graph, i, _| graph.output("more", i.gt(0)?)).unwrap();
    let body = region(|graph, i, x| output_all(graph, &[(i - 1)?, (x * 2.0)?])).unwrap();
    let graph = Graph::new("loop").unwrap();
    let n = graph.input("n", DType::I64, &[]).unwrap();
    let x = graph.input("x", DType::F32, &dims![graph.symbol("size").unwrap()]).unwrap();
    let results = graph.while_(&[n, x], &condition, &body, &[]).unwrap();
    output_all(&graph, &results).unwrap();
    drop((condition, body));
    let mut session = compiled(&graph);
    for n in [0i64, 1, 5] {
        let outputs = session.run(&[Tensor::new(&[n], &[]), Tensor::new(&[1.0f32, -3.0], &[2])]).unwrap();
        let factor = (1 << n) as f32;
        assert_eq!(outputs.get::<i64>(0).unwrap(), [0]);
        assert_eq!(outputs.get::<f32>(1).unwrap(), [factor, -3.0 * factor]);
    }
}

#[test]
fn a_branch_is_chosen_by_its_condition() {
    let halved = region(|graph, _, x| output_all(graph, &[(x / 2.0)?])).unwrap();
    let negated = region(|graph, _, x| output_all(graph, &[(-x)?])).unwrap();
    let graph = Graph::new("branch").unwrap();
    let i = graph.input("i", DType::I64, &[]).unwrap();
    let x = graph.input("x", DType::F32, &dims![3]).unwrap();
    let results = graph.if_(i.gt(0).unwrap(), &[i, x], &halved, &negated, &[]).unwrap();
    output_all(&graph, &results).unwrap();
    let mut session = compiled(&graph);
    for (i, wanted) in [(1i64, [1.0, 2.0, 3.0]), (0, [-2.0, -4.0, -6.0])] {
        let outputs = session.run(&[Tensor::new(&[i], &[]), Tensor::new(&[2.0f32, 4.0, 6.0], &[3])]).unwrap();
        assert_eq!(outputs.get::<f32>(0).unwrap(), wanted);
    }
    let empty = Graph::new("empty").unwrap();
    assert!(message_of(graph.if_(i, &[i, x], &halved, &negated, &[])).contains("if"));
    assert!(message_of(graph.while_(&[i, x], &empty, &empty, &[])).contains("while"));
}

#[test]
fn sorting_gives_values_and_indices() {
    let graph = Graph::new("sorting").unwrap();
    let x = graph.input("x", DType::F32, &dims![graph.symbol("N").unwrap()]).unwrap();
    let (ascending, at) = x.sort(0, false).unwrap();
    let (largest, top) = x.top_k(2, -1, true).unwrap();
    let Unique { values, indices, inverse, counts } = x.unique(None, true).unwrap();
    output_all(&graph, &[ascending, at, largest, top, values, indices, inverse, counts]).unwrap();
    let mut session = compiled(&graph);
    let outputs = session.run(&[Tensor::new(&[5.0f32, 1.0, 7.0, 1.0, 5.0], &[5])]).unwrap();
    assert_eq!(outputs.get::<f32>(0).unwrap(), [1.0, 1.0, 5.0, 5.0, 7.0]);
    assert_eq!(outputs.get::<i64>(1).unwrap(), [1, 3, 0, 4, 2]);
    assert_eq!(outputs.get::<f32>(2).unwrap(), [7.0, 5.0]);
    assert_eq!(outputs.get::<i64>(3).unwrap(), [2, 0]);
    assert_eq!(outputs.get::<f32>(4).unwrap(), [1.0, 5.0, 7.0]);
    assert_eq!(outputs.get::<i64>(5).unwrap(), [1, 0, 2]);
    assert_eq!(outputs.get::<i64>(6).unwrap(), [1, 0, 2, 0, 1]);
    assert_eq!(outputs.get::<i64>(7).unwrap(), [2, 2, 1]);
}

#[test]
fn data_tells_how_much_is_kept() {
    let graph = Graph::new("compaction").unwrap();
    let n = graph.symbol("N").unwrap();
    let x = graph.input("x", DType::F32, &dims![n, 2]).unwrap();
    let mask = graph.input("mask", DType::BOOL, &dims![n]).unwrap();
    output_all(&graph, &[x.compact(mask).unwrap(), mask.nonzero().unwrap()]).unwrap();
    let mut session = compiled(&graph);
    let rows = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    for (kept, wanted, at) in [([1, 0, 1], vec![1.0f32, 2.0, 5.0, 6.0], vec![0i64, 2]), ([0, 0, 0], vec![], vec![])] {
        let outputs = session.run(&[Tensor::new(&rows, &[3, 2]), Tensor::new(&kept.map(Bool), &[3])]).unwrap();
        assert_eq!(outputs.shape(0).unwrap(), [at.len() as i64, 2]);
        assert_eq!(outputs.get::<f32>(0).unwrap(), wanted);
        assert_eq!(outputs.get::<i64>(1).unwrap(), at);
    }
}

#[test]
fn recurrent_layers_take_their_options() {
    let graph = Graph::new("recurrence").unwrap();
    let steps = graph.symbol("T").unwrap();
    let x = graph.input("x", DType::F32, &dims![steps, 1, 1]).unwrap();
    let bias = graph.constant("bias", &[0.5f32], &[1]).unwrap();
    let one = graph.constant("one", &[1.0f32], &[1, 1]).unwrap();
    let double = [Activation { name: "affine", alpha: Some(2.0), beta: None }];
    let options = Recurrence { bias: Some(bias), reverse: true, activations: &double, ..Default::default() };
    let (y, h) = x.rnn(one, one, options).unwrap();
    let gates = |count| graph.constant("gates", &vec![1.0f32; count], &[count as i64, 1]).unwrap();
    let (_, gru) = x.gru(gates(3), gates(3), Recurrence { linear_before_reset: true, ..Default::default() }).unwrap();
    let (_, lstm, cell) = x.lstm(gates(4), gates(4), Recurrence { clip: 0.25, ..Default::default() }).unwrap();
    output_all(&graph, &[y, h, gru, lstm, cell]).unwrap();
    let mut session = compiled(&graph);
    let outputs = session.run(&[Tensor::new(&[1.0f32, 2.0], &[2, 1, 1])]).unwrap();
    // h = 2 (x + 0.5 + h), from the last step to the first.
    assert_eq!(outputs.get::<f32>(0).unwrap(), [13.0, 5.0]);
    assert_eq!(outputs.get::<f32>(1).unwrap(), [13.0]);
    let sigmoid = |v: f64| 1.0 / (1.0 + (-v).exp());
    let (mut gru, mut lstm, mut cell) = (0.0, 0.0, 0.0);
    for x in [1.0, 2.0] {
        let gate = sigmoid(x + gru);
        gru = (1.0 - gate) * (x + gate * gru).tanh() + gate * gru;
        let clipped = 0.25; // as x + h is beyond it
        cell = sigmoid(clipped) * cell + sigmoid(clipped) * f64::tanh(clipped);
        lstm = sigmoid(clipped) * f64::tanh(cell);
    }
    for (i, wanted) in [(2, gru), (3, lstm), (4, cell)] {
        let given = outputs.get::<f32>(i).unwrap()[0];
        assert!((given as f64 - wanted).abs() < 1e-5, "{}: {} {}", i, given, wanted);
    }
    let unknown = [Activation { name: "tan", ..Default::default() }];
    let refused = x.rnn(one, one, Recurrence { activations: &unknown, ..Default::default() });
    assert!(message_of(refused).contains("no activation function \"tan\""));
}
