//! Building graphs in Rust: dims, operators, ops, builders, constants, errors.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use tailor::graph::{CompileOptions, Denormals, DotOptions, Graph, ReduceSumOptions, SliceOptions, Spatial, Symbol, Value};
use tailor::{dims, DType, Error, ErrorCode, Executable, LoadOptions, Result, Tensor, F16};

fn graph() -> Graph {
    Graph::new("test").unwrap()
}

fn input<'g>(graph: &'g Graph, name: &str) -> Value<'g> {
    let rows = graph.symbol(&format!("rows_of_{}", name)).unwrap();
    graph.input(name, DType::F32, &dims![rows, 4]).unwrap()
}

fn error_of<T>(result: Result<T>) -> Error {
    result.err().expect("an error")
}

/// Asserts that the call failed for its arguments and that the message says `words`.
fn assert_refused<T>(result: Result<T>, words: &str) {
    let error = error_of(result);
    assert_eq!(error.code, ErrorCode::InvalidArgument, "{}", error);
    assert!(error.message.contains(words), "{}", error);
}

#[test]
fn dims_are_canonical_expressions() {
    let graph = graph();
    let b = graph.symbol_with("B", Symbol { min: 1, max: 512, multiple_of: 8, likely: &[8, 64] }).unwrap();
    let s = graph.symbol("S").unwrap();
    for (dim, text) in [
        (b * s, "B*S"),
        ((2 * b).unwrap() + 1, "2*B + 1"),
        (10 - s, "-S + 10"),
        (s.floordiv(2), "floordiv(S, 2)"),
        (s.mod_(3), "mod(S, 3)"),
        (s.min(4), "min(S, 4)"),
        (s.max(b), "max(B, S)"),
        (s.ceildiv(4), "floordiv(S + 3, 4)"),
        (s.truncdiv(4), "floordiv(S, 4)"),
        (s.truncmod(4), "mod(S, 4)"),
        (s.equal(s), "1"),
        (s.less(s), "0"),
        (s.equal(s).unwrap().select(b, 7), "B"),
        (graph.dim(3).unwrap() * 2, "6"),
    ] {
        assert_eq!(dim.unwrap().to_string(), text);
    }
    graph.output("x", graph.input("x", DType::F32, &dims![b, s, 4]).unwrap()).unwrap();
    assert!(graph.text().unwrap().contains("B in [1, 512] multiple_of 8 likely [8, 64]"));
    assert_refused(s.floordiv(0), "tailor_dim_floordiv");
    assert_refused(graph.symbol("B"), "\"B\"");
}

#[test]
fn equal_dims_are_facts() {
    let graph = graph();
    let (n, m) = (graph.symbol("N").unwrap(), graph.symbol("M").unwrap());
    for (name, extent) in [("x", n), ("y", m)] {
        graph.output(name, graph.input(&format!("in {}", name), DType::F32, &dims![extent]).unwrap()).unwrap();
    }
    graph.assume_equal(n, (m * 2).unwrap()).unwrap();
    graph.assume_at_least(m, 3, "the stem").unwrap();
    let facts = graph.facts().unwrap();
    assert!(facts.contains("facts\n  N == 2*M: assumed equality: by the caller"), "{}", facts);
    assert!(facts.contains("M >= 3: the stem: by the caller"), "{}", facts);
}

#[test]
fn facts_of_dims_are_known_or_not() {
    let graph = graph();
    let s = graph.symbol_with("S", Symbol { min: 3, max: 10, ..Default::default() }).unwrap();
    let (more, b) = ((s + 1).unwrap(), graph.symbol("B").unwrap());
    assert_eq!((s * 8).unwrap().range().unwrap(), 24..=80);
    assert_eq!(graph.dim(4).unwrap().range().unwrap(), 4..=4);
    assert_eq!(*(b * b).unwrap().range().unwrap().start(), 0);
    assert_eq!(s.is_equal(s).unwrap(), Some(true));
    assert_eq!(s.is_equal(more).unwrap(), Some(false));
    assert_eq!(s.is_equal(b).unwrap(), None);
    assert_eq!(s.is_less(more).unwrap(), Some(true));
    assert_eq!(more.is_less(s).unwrap(), Some(false));
    assert_eq!(s.is_at_most(10).unwrap(), Some(true));
    assert_eq!(s.is_at_most(b).unwrap(), None);
    graph.assume_equal(s, b).unwrap();
    assert_eq!(s.is_equal(b).unwrap(), Some(true));
    let other = Graph::new("other").unwrap();
    assert_refused(s.is_equal(other.symbol("S").unwrap()), "rhs is a dim of another graph");
}

#[test]
fn ops_have_the_types_that_the_table_says() {
    let graph = graph();
    let x = input(&graph, "x");
    let b = x.shape().unwrap()[0];
    let ids = graph.input("ids", DType::I64, &dims![b]).unwrap();
    let rows = x.reduce_sum_with(&[-1], ReduceSumOptions { keep_dims: 1 });
    let step = SliceOptions { steps: &[1, 2] };
    let columns = x.dot_with(x, DotOptions { transpose_rhs: 1, ..Default::default() });
    for (value, text) in [
        (rows, "f32[rows_of_x, 1]"),
        (x.reduce_max(&[0]), "f32[4]"),
        (columns, "f32[rows_of_x, rows_of_x]"),
        (x.reshape(&dims![(b * 2).unwrap(), 2]), "f32[2*rows_of_x, 2]"),
        (x.slice_with(&dims![0, 0], &dims![b, 2], step), "f32[rows_of_x, 2]"),
        (x.pad(0, &dims![1, 0], &dims![0, 2]), "f32[rows_of_x + 1, 6]"),
        (x.gather(ids), "f32[rows_of_x, 4]"),
        (x.cast(DType::BF16), "bf16[rows_of_x, 4]"),
        (x.mod_(2.0), "f32[rows_of_x, 4]"),
        (ids.shift_left(1), "i64[rows_of_x]"),
        (graph.concat(&[x, x, x], 1), "f32[rows_of_x, 12]"),
        (graph.iota(&dims![b, 3], 1, DType::I32), "i32[rows_of_x, 3]"),
        (x.gt(0.0).unwrap().select(x, 0.0), "f32[rows_of_x, 4]"),
    ] {
        assert_eq!(format!("{:?}", value.unwrap()), text);
    }
}

#[test]
fn operators_append_the_ops_of_their_names() {
    let graph = graph();
    let x = input(&graph, "x");
    let build = || -> Result<()> {
        let y = ((((x + 1.0)? - x)? * 2)? / x)?;
        let z = (-(1.0 - (y % 3.0)?)?)?;
        let beyond = (z.gt(0.0)? | z.eq(z)?)?;
        graph.output("z", (z.lt(1.0)? & (!beyond)?)?.named("between")?)
    };
    build().unwrap();
    let text = graph.text().unwrap();
    let wanted = r#"graph @test(%x: f32[rows_of_x, 4]) {
  %1 = constant 1 : f32[]
  %2 = add %x, %1 : f32[rows_of_x, 4]
  %3 = sub %2, %x : f32[rows_of_x, 4]
  %4 = constant 2 : f32[]
  %5 = mul %3, %4 : f32[rows_of_x, 4]
  %6 = div %5, %x : f32[rows_of_x, 4]
  %7 = constant 3 : f32[]
  %8 = rem %6, %7 : f32[rows_of_x, 4]
  %9 = constant 1 : f32[]
  %10 = sub %9, %8 : f32[rows_of_x, 4]
  %11 = neg %10 : f32[rows_of_x, 4]
  %12 = constant 0 : f32[]
  %13 = gt %11, %12 : bool[rows_of_x, 4]
  %14 = eq %11, %11 : bool[rows_of_x, 4]
  %15 = or %13, %14 : bool[rows_of_x, 4]
  %16 = constant 1 : f32[]
  %17 = lt %11, %16 : bool[rows_of_x, 4]
  %18 = not %15 : bool[rows_of_x, 4]
  %between = and %17, %18 : bool[rows_of_x, 4]
  return "z" = %between
}
"#;
    assert_eq!(text, wanted);
    assert_eq!(Graph::parse(&text).unwrap().text().unwrap(), text);
    assert_refused(Graph::parse("grph @g() {}"), "line 1, column");
}

#[test]
fn convolutions_and_pools_take_their_windows() {
    let graph = graph();
    let (n, size) = (graph.symbol("N").unwrap(), graph.symbol("size").unwrap());
    let x = graph.input("x", DType::F32, &dims![n, 1, size]).unwrap();
    let weights = graph.constant("weights", &[1.0f32, 10.0, 100.0], &[1, 1, 3]).unwrap();
    let bias = graph.constant("bias", &[0.5f32], &[1]).unwrap();
    let padded = Spatial { strides: &[2], low: &dims![1], high: &dims![1], ..Default::default() };
    graph.output("conv", x.conv(weights, Some(bias), 1, padded).unwrap()).unwrap();
    graph.output("dilated", x.conv(weights, None, 1, Spatial { dilations: &[2], ..padded }).unwrap()).unwrap();
    graph.output("max", x.max_pool(&dims![2], Spatial::default()).unwrap()).unwrap();
    graph.output("mean", x.average_pool(&dims![3], false, padded).unwrap()).unwrap();
    graph.output("padded", x.average_pool(&dims![3], true, padded).unwrap()).unwrap();
    let mut session = graph.compile().unwrap().session(1).unwrap();
    let outputs = session.run(&[Tensor::new(&[1.0f32, 2.0, 4.0, 9.0], &[1, 1, 4])]).unwrap();
    assert_eq!(outputs.get::<f32>(0).unwrap(), [210.5, 942.5]);
    assert_eq!(outputs.get::<f32>(1).unwrap(), [920.0]);
    assert_eq!(outputs.get::<f32>(2).unwrap(), [2.0, 4.0, 9.0]);
    assert_eq!(outputs.get::<f32>(3).unwrap(), [1.5, 5.0]);
    assert_eq!(outputs.get::<f32>(4).unwrap(), [1.0, 5.0]);
    let uneven = Spatial { strides: &[1, 1], low: &dims![0], ..Default::default() };
    assert_refused(x.max_pool(&dims![2], uneven), "2 strides, 0 dilations, 1 low and 0 high");
}

#[test]
fn compiling_may_be_isolated_and_limited() {
    let graph = graph();
    let x = input(&graph, "x");
    graph.output("y", x.softmax(-1).unwrap()).unwrap();
    let isolated = CompileOptions { isolated: true, ..Default::default() };
    assert_eq!(graph.compile_artifact(isolated).unwrap(), graph.compile_artifact(CompileOptions::default()).unwrap());
    for isolated in [false, true] {
        let limited = CompileOptions { isolated, memory_limit: 1 << 20, ..Default::default() };
        let error = graph.compile_artifact(limited).unwrap_err();
        assert_eq!(error.code, ErrorCode::ResourceExhausted);
        assert!(error.message.contains("memory_limit of 1.0 MiB"), "{}", error);
    }
}

/// By Winograd's algorithm an infinity is subtracted from itself.
#[test]
fn convolutions_may_be_direct() {
    for direct_convolutions in [false, true] {
        let graph = graph();
        let n = graph.symbol("N").unwrap();
        let x = graph.input("x", DType::F32, &dims![n, 16, 6, 8]).unwrap();
        let weights = graph.constant("weights", &[1.0f32; 16 * 16 * 9], &[16, 16, 3, 3]).unwrap();
        graph.output("y", x.conv(weights, None, 1, Spatial::default()).unwrap()).unwrap();
        let executable = graph.compile_with(CompileOptions { direct_convolutions, ..Default::default() }).unwrap();
        let mut image = [0.5f32; 16 * 6 * 8];
        let mut session = executable.session(1).unwrap();
        let sums = session.run(&[Tensor::new(&image, &[1, 16, 6, 8])]).unwrap();
        assert_eq!(sums.get::<f32>(0).unwrap(), [72.0; 16 * 4 * 6]);
        image[9] = f32::INFINITY;
        let first = session.run(&[Tensor::new(&image, &[1, 16, 6, 8])]).unwrap().get::<f32>(0).unwrap()[0];
        assert_eq!((first.is_nan(), first == f32::INFINITY), (!direct_convolutions, direct_convolutions));
    }
}

#[test]
fn denormals_are_flushed_or_kept() {
    for (denormals, product) in [(Denormals::Auto, 0.0), (Denormals::Flush, 0.0), (Denormals::Keep, 2.0 * 1e-40f32)] {
        let graph = graph();
        let x = graph.input("x", DType::F32, &dims![512]).unwrap();
        let weights = graph.constant("weights", &[1e-40f32; 512], &[512]).unwrap();
        graph.output("y", x.mul(weights).unwrap()).unwrap();
        let executable = graph.compile_with(CompileOptions { denormals, ..Default::default() }).unwrap();
        let mut session = executable.session(1).unwrap();
        let products = session.run(&[Tensor::new(&[2.0f32; 512], &[512])]).unwrap();
        assert_eq!(products.get::<f32>(0).unwrap(), [product; 512]);
    }
}

#[test]
fn code_may_stay_unoptimized() {
    for unoptimized in [false, true] {
        let graph = graph();
        graph.output("y", input(&graph, "x").exp().unwrap()).unwrap();
        let executable = graph.compile_with(CompileOptions { unoptimized, ..Default::default() }).unwrap();
        assert_eq!(executable.describe().unwrap().contains("optimize=0"), unoptimized);
    }
}

#[test]
fn passes_may_be_left_out() {
    let graph = graph();
    graph.output("y", input(&graph, "x").exp().unwrap()).unwrap();
    let executable = graph.compile_with(CompileOptions { without: &["stitch"], ..Default::default() }).unwrap();
    assert!(executable.describe().unwrap().contains("without=stitch"));
    let error = graph.compile_with(CompileOptions { without: &["glue"], ..Default::default() }).unwrap_err();
    assert!(error.to_string().contains("no optional pass \"glue\""), "{}", error);
}

#[test]
fn matmuls_are_compiled_for_a_cost_profile() {
    let graph = graph();
    graph.output("y", input(&graph, "x").exp().unwrap()).unwrap();
    let compile = |profile| {
        graph.compile_with(CompileOptions { targets: &["host"], cost_profile: Some(profile), ..Default::default() })
    };
    assert!(compile("tile 2x1 1 2 3").unwrap().describe().unwrap().contains(" cost_profile"));
    assert_refused(compile("line 4\ntile 2x1"), "options.cost_profile: line 2");
}

#[test]
fn builders_keep_the_shape() {
    let graph = graph();
    let x = input(&graph, "x");
    let one = graph.constant("one", &[1.0f32; 4], &[4]).unwrap();
    for value in [x.softmax(-1), x.log_softmax(0), x.layer_norm(Some(one), None, 1e-5), x.gelu(), x.gelu_tanh(),
                  x.l2_normalize(-1, 1e-12), x.attention(x, x, None, Some(0.5))] {
        assert_eq!(format!("{:?}", value.unwrap()), format!("{:?}", x));
    }
}

#[test]
fn constants_are_copied_or_kept_until_they_are_no_longer_needed() {
    struct Owner(Vec<f32>, Arc<AtomicUsize>);
    impl AsRef<[f32]> for Owner {
        fn as_ref(&self) -> &[f32] {
            &self.0
        }
    }
    impl Drop for Owner {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let graph = graph();
    let x = input(&graph, "x");
    let copied = {
        let weights = vec![1.0f32, 2.0, 3.0, 4.0];
        graph.constant("copied", &weights, &[4]).unwrap()
    };
    let kept = graph.constant_from("kept", Owner(vec![10.0, 20.0, 30.0, 40.0], dropped.clone()), &[4]).unwrap();
    graph.output("y", ((x * copied).unwrap() + kept).unwrap()).unwrap();
    assert_refused(graph.constant_from("short", Owner(vec![1.0], dropped.clone()), &[4]), "short");
    assert_eq!(dropped.load(Ordering::SeqCst), 1, "a refused constant is given back");
    let executable = graph.compile().unwrap();
    assert_eq!(dropped.load(Ordering::SeqCst), 1, "the graph keeps the other");
    drop(graph);
    assert_eq!(dropped.load(Ordering::SeqCst), 2);
    let mut session = executable.session(1).unwrap();
    let outputs = session.run(&[Tensor::new(&[1.0f32; 4], &[1, 4])]).unwrap();
    assert_eq!(outputs.get::<f32>(0).unwrap(), [11.0, 22.0, 33.0, 44.0]);
}

#[test]
fn halves_are_bits() {
    let graph = graph();
    let x = graph.input("x", DType::F16, &dims![2]).unwrap();
    graph.output("y", (x * graph.constant("c", &[F16(0x4000)], &[1]).unwrap()).unwrap()).unwrap();
    let mut session = graph.compile().unwrap().session(1).unwrap();
    let outputs = session.run(&[Tensor::new(&[F16(0x3C00), F16(0xC200)], &[2])]).unwrap();
    assert_eq!(outputs.get::<F16>(0).unwrap(), [F16(0x4000), F16(0xC600)]);
}

#[test]
fn bad_graphs_are_refused_by_name() {
    let (graph, other) = (graph(), graph());
    let (x, foreign) = (input(&graph, "x"), input(&other, "foreign"));
    let ids = graph.input("ids", DType::I64, &dims![4]).unwrap();
    assert_refused(x + ids, "add: operand \"rhs\"");
    assert_refused(x.add(foreign), "add: rhs is a value of another graph");
    assert_refused(x.max_pool(&dims![foreign.shape().unwrap()[0]], Spatial::default()), "another graph");
    assert_refused(graph.input("z", DType::F32, &dims![foreign.shape().unwrap()[0]]), "another graph");
    assert_refused(x.shape().unwrap()[0] + foreign.shape().unwrap()[0], "another graph");
    assert_refused(graph.output("y", foreign), "another graph");
    assert_refused(graph.input("x", DType::F32, &[]), "the name \"x\" is taken");
    assert_refused(graph.input("z", DType(99), &[]), "99");
    assert_refused(x.softmax(2), "axis 2");
    assert_refused(x.scatter(ids, x, "divide"), "divide");
    assert_refused(x.dot(graph.constant("w", &[0f32; 6], &[2, 3]).unwrap()), "dot");

    assert_eq!(error_of(graph.compile()).code, ErrorCode::FailedPrecondition, "there is no output");
    graph.output("y", x.exp().unwrap()).unwrap();
    let targets = ["x86-64-v9"];
    assert_refused(graph.compile_with(CompileOptions { targets: &targets, ..Default::default() }), "x86-64-v9");
    let (n, m) = (other.symbol("N").unwrap(), other.symbol("M").unwrap());
    let unsolvable = other.input("product", DType::F32, &dims![(n * m).unwrap()]).unwrap();
    other.output("y", unsolvable.exp().unwrap()).unwrap();
    assert_refused(other.compile(), "symbol N cannot be solved");
}

#[test]
fn progress_can_cancel_and_panic_but_not_use_the_graph() {
    let graph = graph();
    let x = input(&graph, "x");
    graph.output("y", x.exp().unwrap()).unwrap();
    let mut cancel = |phase: &str, _: f64| phase != "pack";
    let cancelled = graph.compile_with(CompileOptions { progress: Some(&mut cancel), ..Default::default() });
    let expected = Error::new(ErrorCode::Cancelled, "compilation was cancelled during pack");
    assert_eq!(error_of(cancelled), expected);

    let mut codes = Vec::new();
    let mut touch = |_: &str, _: f64| {
        codes.push(error_of(x.exp()).code);
        true
    };
    graph.compile_with(CompileOptions { progress: Some(&mut touch), ..Default::default() }).unwrap();
    assert!(!codes.is_empty() && codes.iter().all(|&code| code == ErrorCode::FailedPrecondition));

    let compile = || {
        let mut panic = |_: &str, _: f64| -> bool { panic!("in progress") };
        graph.compile_with(CompileOptions { progress: Some(&mut panic), ..Default::default() })
    };
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(compile)).err().expect("the panic goes on");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"in progress"));
    x.exp().expect("the graph is as it was");
}

#[test]
fn a_signed_artifact_is_other_bytes() {
    let graph = graph();
    graph.output("y", input(&graph, "x")).unwrap();
    // The key of test 1 of RFC 8032: seed, then public key.
    let key: Vec<u8> = ["9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"]
        .concat()
        .as_bytes()
        .chunks(2)
        .map(|digits| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap())
        .collect();
    let key: [u8; 64] = key.try_into().unwrap();
    let signed = graph.compile_artifact(CompileOptions { secret_key: Some(&key), ..Default::default() }).unwrap();
    let plain = graph.compile_artifact(CompileOptions::default()).unwrap();
    assert_ne!(signed, plain);
    let public: [u8; 32] = key[32..].try_into().unwrap();
    let of_key = |key| LoadOptions { public_key: Some(key), ..Default::default() };
    Executable::from_bytes_with(&signed, &of_key(&public)).unwrap();
    assert_eq!(error_of(Executable::from_bytes_with(&plain, &of_key(&public))).code, ErrorCode::FailedPrecondition);
    assert_eq!(error_of(Executable::from_bytes_with(&signed, &of_key(&[1; 32]))).code, ErrorCode::FailedPrecondition);
    let strange = LoadOptions { target: Some("z80"), ..Default::default() };
    assert!(error_of(Executable::from_bytes_with(&signed, &strange)).to_string().contains("z80"));
    let costs = LoadOptions { cost_profile: Some("tile 6x4"), verify_constants: true, ..Default::default() };
    assert!(error_of(Executable::from_bytes_with(&signed, &costs)).to_string().contains("a tile has three costs"));
    let mut bent = signed;
    let middle = bent.len() / 2;
    bent[middle] ^= 1;
    assert_eq!(error_of(Executable::from_bytes(&bent)).code, ErrorCode::DataLoss);
}

#[test]
fn kernels_run_on_the_callers_executor() {
    let graph = graph();
    let rows = graph.symbol("rows").unwrap();
    let x = graph.input("x", DType::F32, &dims![rows, 64]).unwrap();
    graph.output("y", x.softmax(-1).unwrap()).unwrap();
    let executable = graph.compile().unwrap();
    let x: Vec<f32> = (0..4096 * 64).map(|i| (i % 97) as f32).collect();
    let inputs = [Tensor::new(&x, &[4096, 64])];
    let expected = executable.session(1).unwrap().run(&inputs).unwrap().get::<f32>(0).unwrap().to_vec();

    let most = Arc::new(AtomicUsize::new(0));
    let seen = most.clone();
    let mut session = executable
        .session_on(3, move |task, count| {
            seen.fetch_max(count, Ordering::Relaxed);
            std::thread::scope(|scope| (0..count).rev().for_each(|i| drop(scope.spawn(move || task(i)))));
        })
        .unwrap();
    assert_eq!(session.run(&inputs).unwrap().get::<f32>(0).unwrap(), expected);
    assert_eq!(most.load(Ordering::Relaxed), 3);
}

#[test]
fn panics_of_an_executor_go_on_after_the_run() {
    let graph = graph();
    let rows = graph.symbol("rows").unwrap();
    let x = graph.input("x", DType::F32, &dims![rows, 64]).unwrap();
    graph.output("y", x.softmax(-1).unwrap()).unwrap();
    let mut session = graph.compile().unwrap().session_on(2, |_, _| panic!("no more threads")).unwrap();
    let x = vec![0.5f32; 4096 * 64];
    let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        session.run(&[Tensor::new(&x, &[4096, 64])]).unwrap();
    }));
    assert_eq!(run.unwrap_err().downcast_ref::<&str>(), Some(&"no more threads"));
    assert!(session.run(&[Tensor::new(&x[..64], &[1, 64])]).is_ok());
}

fn cache_step(options: CompileOptions<'_>) -> Result<Executable> {
    let graph = graph();
    let rows = graph.symbol("S").unwrap();
    let cache = graph.input("cache", DType::F32, &dims![rows, 4]).unwrap();
    let at = graph.input("at", DType::I64, &dims![1, 1]).unwrap();
    let row = graph.input("row", DType::F32, &dims![1, 4]).unwrap();
    graph.output("next", cache.scatter(at, row, "set").unwrap()).unwrap();
    graph.compile_with(options)
}

#[test]
fn a_donated_input_is_updated_where_it_is() {
    let options = CompileOptions { targets: &["host"], donated: &["cache"], max_versions: 2, ..Default::default() };
    let executable = cache_step(options).unwrap();
    assert!(executable.inputs()[0].donated);
    assert_eq!(executable.outputs()[0].memory_of, Some(0));
    let mut session = executable.session(1).unwrap();
    let mut cache = [0.0f32; 12];
    for i in 0i64..3 {
        let (at, row) = ([i], [i as f32 + 1.0; 4]);
        let inputs = [Tensor::donated(&mut cache, &[3, 4]), Tensor::new(&at, &[1, 1]), Tensor::new(&row, &[1, 4])];
        let outputs = session.run(&inputs).unwrap();
        assert_eq!(outputs.shape(0).unwrap(), [3, 4]);
        assert_refused(outputs.get::<f32>(0), "in the memory of a donated input");
    }
    assert_eq!([cache[0], cache[4], cache[8]], [1.0, 2.0, 3.0]);
    let inputs = [Tensor::new(&cache, &[3, 4]), Tensor::new(&[0i64], &[1, 1]), Tensor::new(&[0.0f32; 4], &[1, 4])];
    assert_refused(session.run(&inputs), "input \"cache\" is donated: make it with Tensor::donated");
    assert_refused(session.run_owned(&inputs), "is in the memory of a donated input: see run");
    assert_refused(cache_step(CompileOptions { donated: &["x"], ..Default::default() }), "\"x\" is no input");
}
