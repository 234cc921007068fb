//! A transformer block built, compiled and run from Rust, against plain loops in f64.

use tailor::graph::{CompileOptions, Graph, Value};
use tailor::{dims, Bool, DType, Executable, Result, Tensor};

const HEADS: usize = 2;
const WIDTH: usize = 16;
const INNER: usize = 24;
const HEAD: usize = WIDTH / HEADS;
const EPSILON: f64 = 1e-5;

/// The same numbers in [-1, 1) at each call.
fn numbers(seed: u32, count: usize, scale: f32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2654435761).wrapping_add(1);
    let next = |state: &mut u32| {
        *state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        ((*state >> 8) as f32 / (1 << 23) as f32 - 1.0) * scale
    };
    (0..count).map(|_| next(&mut state)).collect()
}

/// Every weight by its name: [rows, columns], or a vector where there is one row.
struct Weights(Vec<(&'static str, usize, usize, Vec<f32>)>);

impl Weights {
    fn new() -> Weights {
        let shapes = [("query", WIDTH, WIDTH), ("key", WIDTH, WIDTH), ("value", WIDTH, WIDTH), ("merge", WIDTH, WIDTH),
                      ("up", WIDTH, INNER), ("down", INNER, WIDTH), ("up bias", 1, INNER), ("scale", 1, WIDTH),
                      ("shift", 1, WIDTH)];
        let make = |(i, (name, rows, columns))| (name, rows, columns, numbers(i as u32, rows * columns, 0.5));
        Weights(shapes.into_iter().enumerate().map(make).collect())
    }

    fn get(&self, name: &str) -> &(&'static str, usize, usize, Vec<f32>) {
        self.0.iter().find(|weight| weight.0 == name).unwrap()
    }

    fn constant<'g>(&self, graph: &'g Graph, name: &str) -> Result<Value<'g>> {
        let (_, rows, columns, data) = self.get(name);
        let dims = [*rows as i64, *columns as i64];
        graph.constant_from(name, data.clone(), if *rows == 1 { &dims[1..] } else { &dims })
    }
}

/// y = block(x), x being f32[B, S, WIDTH]; keys where `keep` [B, S] is false are not attended to. "mean" is that of y
/// over S.
fn build(graph: &Graph, weights: &Weights) -> Result<()> {
    let (b, s) = (graph.symbol("B")?, graph.symbol("S")?);
    let x = graph.input("x", DType::F32, &dims![b, s, WIDTH as i64])?;
    let keep = graph.input("keep", DType::BOOL, &dims![b, s])?;
    let weight = |name| weights.constant(graph, name);
    let (scale, shift) = (weight("scale")?, weight("shift")?);

    let h = x.layer_norm(Some(scale), Some(shift), EPSILON)?;
    let heads = |name| -> Result<Value> {
        let projected = h.dot(weight(name)?)?.reshape(&dims![b, s, HEADS as i64, HEAD as i64])?;
        projected.transpose(&[0, 2, 1, 3])
    };
    let mask = keep.select(graph.scalar(DType::F32, 0.0)?, -1e9)?.reshape(&dims![b, 1, 1, s])?;
    let attended = heads("query")?.attention(heads("key")?, heads("value")?, Some(mask), None)?;
    let merged = attended.transpose(&[0, 2, 1, 3])?.reshape(&dims![b, s, WIDTH as i64])?;
    let x = (x + merged.dot(weight("merge")?)?)?;

    let h = x.layer_norm(Some(scale), Some(shift), EPSILON)?;
    let inner = (h.dot(weight("up")?)? + weight("up bias")?)?.gelu()?;
    let y = (x + inner.dot(weight("down")?)?)?.named("y")?;
    graph.output("y", y)?;
    graph.output("mean", y.reduce_mean(&[1])?)
}

/// The error function, by its series; enough for |x| < 4.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..80 {
        term *= -x * x / n as f64;
        sum += term / (2 * n + 1) as f64;
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

type Rows = Vec<Vec<f64>>;

fn layer_norm(x: &Rows, weights: &Weights) -> Rows {
    let (scale, shift) = (&weights.get("scale").3, &weights.get("shift").3);
    let row = |row: &Vec<f64>| {
        let mean = row.iter().sum::<f64>() / WIDTH as f64;
        let variance = row.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / WIDTH as f64;
        let normal = |(i, v): (usize, &f64)| (v - mean) / (variance + EPSILON).sqrt() * scale[i] as f64 + shift[i] as f64;
        row.iter().enumerate().map(normal).collect()
    };
    x.iter().map(row).collect()
}

fn dot(x: &Rows, weights: &Weights, name: &str) -> Rows {
    let (_, rows, columns, data) = weights.get(name);
    let sum = |row: &Vec<f64>, j: usize| (0..*rows).map(|k| row[k] * data[k * columns + j] as f64).sum();
    x.iter().map(|row| (0..*columns).map(|j| sum(row, j)).collect()).collect()
}

fn add(lhs: &Rows, rhs: &Rows) -> Rows {
    lhs.iter().zip(rhs).map(|(l, r)| l.iter().zip(r).map(|(a, b)| a + b).collect()).collect()
}

/// The block on one sequence.
fn reference(x: &Rows, keep: &[bool], weights: &Weights) -> Rows {
    let h = layer_norm(x, weights);
    let (query, key, value) = (dot(&h, weights, "query"), dot(&h, weights, "key"), dot(&h, weights, "value"));
    let mut merged = vec![vec![0.0; WIDTH]; x.len()];
    for (i, head) in (0..x.len()).flat_map(|i| (0..HEADS).map(move |head| (i, head))) {
        let columns = head * HEAD..(head + 1) * HEAD;
        let score = |j: usize| {
            let product: f64 = columns.clone().map(|c| query[i][c] * key[j][c]).sum();
            product / (HEAD as f64).sqrt() + if keep[j] { 0.0 } else { -1e9 }
        };
        let scores: Vec<f64> = (0..x.len()).map(score).collect();
        let largest = scores.iter().cloned().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = scores.iter().map(|s| (s - largest).exp()).collect();
        let total: f64 = powers.iter().sum();
        for c in columns.clone() {
            merged[i][c] = (0..x.len()).map(|j| powers[j] / total * value[j][c]).sum();
        }
    }
    let x = add(x, &dot(&merged, weights, "merge"));
    let mut inner = dot(&layer_norm(&x, weights), weights, "up");
    for row in inner.iter_mut() {
        for (v, bias) in row.iter_mut().zip(&weights.get("up bias").3) {
            let biased = *v + *bias as f64;
            *v = biased / 2.0 * (1.0 + erf(biased / std::f64::consts::SQRT_2));
        }
    }
    add(&x, &dot(&inner, weights, "down"))
}

fn assert_close(given: &[f32], wanted: &[f64], what: &str) {
    assert_eq!(given.len(), wanted.len(), "{}", what);
    for (i, (given, wanted)) in given.iter().zip(wanted).enumerate() {
        assert!((*given as f64 - wanted).abs() <= 2e-5 * (1.0 + wanted.abs()), "{}[{}]: {} {}", what, i, given, wanted);
    }
}

/// Runs one shape against the reference; gives the bits of y.
fn run(executable: &Executable, weights: &Weights, batch: usize, length: usize) -> Vec<u32> {
    let x = numbers(99, batch * length * WIDTH, 1.0);
    let keep: Vec<bool> = (0..batch * length).map(|i| i % length == 0 || i % 3 != 1).collect();
    let keep_bytes: Vec<Bool> = keep.iter().map(|&keep| Bool(keep.into())).collect();
    let (mut wanted, mut mean) = (Vec::new(), Vec::new());
    for (sequence, keep) in x.chunks(length * WIDTH).zip(keep.chunks(length)) {
        let rows: Rows = sequence.chunks(WIDTH).map(|row| row.iter().map(|&v| v as f64).collect()).collect();
        let y = reference(&rows, keep, weights);
        mean.extend((0..WIDTH).map(|c| y.iter().map(|row| row[c]).sum::<f64>() / length as f64));
        wanted.extend(y.concat());
    }

    let mut session = executable.session(2).unwrap();
    let dims = [batch as i64, length as i64, WIDTH as i64];
    let outputs = session.run(&[Tensor::new(&x, &dims), Tensor::new(&keep_bytes, &dims[..2])]).unwrap();
    assert_eq!(outputs.shape(0).unwrap(), dims);
    assert_eq!(outputs.shape(1).unwrap(), [batch as i64, WIDTH as i64]);
    assert_close(outputs.get(0).unwrap(), &wanted, "y");
    assert_close(outputs.get(1).unwrap(), &mean, "mean");
    outputs.get::<f32>(0).unwrap().iter().map(|v| v.to_bits()).collect()
}

#[test]
fn a_block_runs_at_many_shapes_saved_and_loaded() {
    let weights = Weights::new();
    let graph = Graph::new("block").unwrap();
    build(&graph, &weights).unwrap();
    let mut phases = Vec::new();
    let mut progress = |phase: &str, done: f64| {
        phases.push((phase.to_string(), done));
        true
    };
    let options = CompileOptions { threads: 2, progress: Some(&mut progress), ..Default::default() };
    let compiled = graph.compile_with(options).unwrap();
    assert_eq!(phases.last().unwrap(), &("done".to_string(), 1.0));
    drop(graph);

    let path = std::env::temp_dir().join(format!("tailor_rust_block_{}.tlr", std::process::id()));
    compiled.save(&path).unwrap();
    let loaded = Executable::load(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    for (batch, length) in [(1, 1), (2, 3), (3, 17), (5, 8)] {
        let bits = run(&compiled, &weights, batch, length);
        assert_eq!(run(&loaded, &weights, batch, length), bits, "the loaded artifact gives the same bits");
    }
}

#[test]
fn the_same_graph_gives_the_same_bytes() {
    let weights = Weights::new();
    let bytes = || {
        let graph = Graph::new("block").unwrap();
        build(&graph, &weights).unwrap();
        let targets = ["x86-64-v2", "host"];
        graph.compile_artifact(CompileOptions { targets: &targets, ..Default::default() }).unwrap()
    };
    let first = bytes();
    assert_eq!(first, bytes());
    run(&Executable::from_bytes(&first).unwrap(), &weights, 2, 5);
}
