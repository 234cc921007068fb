//! Random programs with a mistake, each in a random place and with random numbers: an error each time, and the handles still
//! work.

use tailor::graph::{
    Activation, CompileOptions, CustomOptions, CustomResult, Graph, Recurrence, Spatial, Symbol, Value,
};
use tailor::{dims, Bool, DType, Device, Error, ErrorCode, Executable, LoadOptions, Result, Runtime, Session};
use tailor::{onnx, SessionOptions, Tensor, TensorMut};

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// A number that is no axis of a tensor of few dims.
    fn axis(&mut self) -> i64 {
        self.pick(&[i64::MIN, i64::MIN + 1, -100, -9, 9, 64, 1 << 31, 1 << 32, i64::MAX])
    }

    /// A number that no size may be.
    fn negative(&mut self) -> i64 {
        self.pick(&[i64::MIN, i64::MIN + 1, i32::MIN as i64, -1000, -2, -1])
    }

    fn text(&mut self) -> String {
        (0..self.below(40)).map(|_| char::from_u32(self.below(0x300) as u32).unwrap_or('?')).collect()
    }

    fn bytes(&mut self) -> Vec<u8> {
        (0..self.below(400)).map(|_| self.next() as u8).collect()
    }
}

/// What all programs share.
struct World {
    runtime: Runtime,
    executable: Executable, // y f32[B, 4] = x + 1 of x f32[B, 4], B in [1, 64]
    donated: Executable,    // the same in the memory of x
    custom: Executable,     // the same through the operator "op", whose attributes say what it does
    artifact: Vec<u8>,
}

fn build(name: &str, max: i64) -> Result<Graph> {
    let graph = Graph::new(name)?;
    let batch = graph.symbol_with("B", Symbol { min: 1, max, ..Default::default() })?;
    let x = graph.input("x", DType::F32, &dims![batch, 4])?;
    graph.output("y", (x + 1.0)?)?;
    Ok(graph)
}

fn failing(call: &tailor::CustomCall<'_>) -> Result<()> {
    let first = call.operand::<f32>(0)?[0] as i64;
    let y = call.result::<f32>(0)?;
    match first {
        1 => return Err("no".into()),
        2 => panic!("never"),
        3 => drop(call.result::<f32>(0)?),
        4 => drop(call.operand::<u8>(0)?),
        5 => drop(call.operand_dims(7)?),
        6 => return Err(Error::new(ErrorCode::from_raw(first as i32 * 1000), "\0".repeat(1000))),
        7 => y[y.len() + 1] = 0.0,
        _ => y.copy_from_slice(call.operand::<f32>(0)?),
    }
    Ok(())
}

impl World {
    fn new() -> Result<World> {
        let host = || CompileOptions { targets: &["host"], ..Default::default() };
        let graph = build("shared", 64)?;
        let runtime = Runtime::new()?;
        runtime.register("op", Device::Cpu, failing)?;
        let calls = Graph::new("calls")?;
        let batch = calls.symbol("B")?;
        let x = calls.input("x", DType::F32, &dims![batch, 4])?;
        let shape = dims![batch, 4];
        let result = CustomResult { dtype: DType::F32, dims: &shape, counted_dim: None };
        let y = calls.custom("op", &[x], &[result], CustomOptions::default())?[0];
        calls.output("y", (y + 1.0)?)?;
        Ok(World {
            executable: graph.compile_with(host())?,
            donated: graph.compile_with(CompileOptions { donated: &["x"], ..host() })?,
            custom: calls.compile_with(CompileOptions { runtime: Some(&runtime), ..host() })?,
            artifact: graph.compile_artifact(host())?,
            runtime,
        })
    }
}

/// One mistake: what it gives must be an error.
type Mistake = fn(&mut Random, &World) -> Result<()>;

fn run_with(session: &mut Session, input: Tensor<'_>) -> Result<()> {
    session.run(&[input]).map(drop)
}

const RUNS: &[(&str, Mistake)] = &[
    ("inputs of another number", |random, world| {
        let x = [0f32; 4];
        let count = random.pick(&[0, 2, 3, 17]);
        let inputs: Vec<_> = (0..count).map(|_| Tensor::new(&x, &[1, 4])).collect();
        world.executable.session(1)?.run(&inputs).map(drop)
    }),
    ("an input of another type", |random, world| {
        let mut session = world.executable.session(1)?;
        match random.below(4) {
            0 => run_with(&mut session, Tensor::new(&[0f64; 4], &[1, 4])),
            1 => run_with(&mut session, Tensor::new(&[0i32; 4], &[1, 4])),
            2 => run_with(&mut session, Tensor::new(&[Bool(9); 4], &[1, 4])),
            _ => run_with(&mut session, Tensor::new(&[0u8; 16], &[1, 4])),
        }
    }),
    ("dim sizes of an input", |random, world| {
        let x = vec![0f32; random.below(300)];
        let mut dims: Vec<i64> = (0..random.below(12)).map(|_| random.axis()).collect();
        if dims.len() == 2 {
            dims[1] = 5;
        }
        run_with(&mut world.executable.session(1)?, Tensor::new(&x, &dims))
    }),
    ("a batch out of range", |random, world| {
        let rows = random.pick(&[0usize, 65, 66, 1000]);
        run_with(&mut world.executable.session(1)?, Tensor::new(&vec![0f32; rows * 4], &[rows as i64, 4]))
    }),
    ("an input that is too small", |random, world| {
        let (rows, x) = (2 + random.below(60), [0f32; 4]);
        run_with(&mut world.executable.session(1)?, Tensor::new(&x, &[rows as i64, 4]))
    }),
    ("memory of outputs", |random, world| {
        let (x, mut y) = ([0f32; 8], vec![0f32; random.below(8)]);
        let mut session = world.executable.session(1)?;
        session.run_into(&[Tensor::new(&x, &[2, 4])], &mut [TensorMut::open(&mut y)])
    }),
    ("dim sizes of outputs", |random, world| {
        let (x, mut y) = ([0f32; 8], [0f32; 8]);
        let mut dims = vec![2i64, 4];
        let (at, wrong) = (random.below(2), random.pick(&[i64::MIN, -2, 0, 1, 3, 5, 1 << 40, i64::MAX]));
        dims[at] = wrong;
        let inputs = [Tensor::new(&x, &[2, 4])];
        world.executable.run_into(&inputs, &mut [TensorMut::new(&mut y, &dims)])
    }),
    ("outputs of another number", |random, world| {
        let mut outputs: Vec<TensorMut> = (0..random.pick(&[0, 2, 5])).map(|_| TensorMut::none()).collect();
        world.executable.session(1)?.run_into(&[Tensor::new(&[0f32; 4], &[1, 4])], &mut outputs)
    }),
    ("no memory for a run without a session", |_, world| {
        world.executable.run_into(&[Tensor::new(&[0f32; 4], &[1, 4])], &mut [TensorMut::none()])
    }),
    ("an output that is not there, or of another type", |random, world| {
        let mut session = world.executable.session(1)?;
        let x = [0f32; 4];
        let outputs = session.run(&[Tensor::new(&x, &[1, 4])])?;
        match random.below(4) {
            0 => outputs.get::<f32>(random.pick(&[1, 2, usize::MAX])).map(drop),
            1 => outputs.get::<i64>(0).map(drop),
            2 => outputs.named(&random.text()).map(drop),
            _ => outputs[0].as_slice::<tailor::F16>().map(drop),
        }
    }),
    ("an input that is not donated", |_, world| {
        run_with(&mut world.donated.session(1)?, Tensor::new(&[0f32; 4], &[1, 4]))
    }),
    ("another output in donated memory", |random, world| {
        let (mut x, mut y) = ([0f32; 4], [0f32; 4]);
        let mut outputs = [if random.below(2) == 0 { TensorMut::open(&mut y) } else { TensorMut::new(&mut y, &[1, 4]) }];
        world.donated.session(1)?.run_into(&[Tensor::donated(&mut x, &[1, 4])], &mut outputs)
    }),
    ("bound memory", |random, world| {
        let (mut x, mut y, rows) = ([0f32; 8], [0f32; 8], random.pick(&[0i64, 3, 65, -1]));
        let (inputs, outputs) = (vec![TensorMut::new(&mut x, &[rows, 4])], vec![TensorMut::new(&mut y, &[2, 4])]);
        world.executable.session(1)?.bind(inputs, outputs)?.run()
    }),
    ("the shape of a plan", |random, world| {
        let rows = random.pick(&[0, 65, -1, i64::MAX, i64::MIN]);
        world.executable.plan(&[Tensor::new::<f32>(&[], &[rows, 4])], random.next()).map(drop)
    }),
    ("the shape to reserve", |random, world| {
        let rows = random.pick(&[0, 65, -1, i64::MAX]);
        world.executable.session(1)?.reserve(&[Tensor::new::<f32>(&[], &[rows, 4])])
    }),
    ("options of a session for a GPU", |random, world| {
        let asynchronous = random.below(2) == 0;
        let options = SessionOptions { cuda_graph: true, asynchronous, ..Default::default() };
        world.executable.session_with(options).map(drop)
    }),
    ("an operator that fails", |random, world| {
        let x = [random.pick(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]); 8];
        run_with(&mut world.custom.session(1)?, Tensor::new(&x, &[2, 4]))
    }),
    ("an operator that is not registered", |_, world| {
        let path = std::env::temp_dir().join(format!("tailor_rust_mistakes_{}.tlr", std::process::id()));
        world.custom.save(&path)?;
        let result = Executable::load(&path).map(drop);
        std::fs::remove_file(path).unwrap();
        result
    }),
    ("the name of an operator", |random, world| {
        world.runtime.register(random.pick(&["", "op", "tailor.", "tailor.run_state"]), Device::Cpu, |_| Ok(()))
    }),
];

const LOADS: &[(&str, Mistake)] = &[
    ("a file that is not there", |random, _| Executable::load(format!("/nowhere/{}", random.below(9))).map(drop)),
    ("a folder", |_, _| Executable::load("/tmp").map(drop)),
    ("an empty path", |_, _| Executable::load("").map(drop)),
    ("a path with a NUL", |_, _| Executable::load("/tmp/a\0b").map(drop)),
    ("random bytes", |random, _| Executable::from_bytes(&random.bytes()).map(drop)),
    ("a part of an artifact", |random, world| {
        Executable::from_bytes(&world.artifact[..random.below(world.artifact.len())]).map(drop)
    }),
    ("a damaged header", |random, world| {
        let (mut bytes, at) = (world.artifact.clone(), random.below(64));
        bytes[at] ^= 1 << random.below(8);
        Executable::from_bytes(&bytes).map(drop)
    }),
    ("a target", |random, world| {
        let text = format!("z{}", random.text());
        let options = LoadOptions { target: Some(&text), ..Default::default() };
        Executable::from_bytes_with(&world.artifact, &options).map(drop)
    }),
    ("a key", |random, world| {
        let key = [random.next() as u8; 32];
        let options = LoadOptions { public_key: Some(&key), ..Default::default() };
        Executable::from_bytes_with(&world.artifact, &options).map(drop)
    }),
    ("a device", |random, world| {
        let device = Device::Cuda(random.pick(&[i32::MIN, -1, 1000, i32::MAX]));
        Executable::from_bytes_with(&world.artifact, &LoadOptions { device, ..Default::default() }).map(drop)
    }),
    ("a cost profile", |random, world| {
        let text = format!("?{}", random.text());
        let options = LoadOptions { cost_profile: Some(&text), ..Default::default() };
        Executable::from_bytes_with(&world.artifact, &options).map(drop)
    }),
    ("a folder to save to", |random, world| world.executable.save(random.pick(&["/tmp", "", "/no/such/folder/x.tlr"]))),
    ("a description of nothing", |random, _| {
        tailor::describe_artifact(random.pick(&["/tmp", "", "/no/such/file"])).map(drop)
    }),
    ("a random model", |random, _| Ok(onnx::load_bytes(&random.bytes(), &onnx::Options::default()).map(drop)?)),
    ("a model that is not there", |random, _| Ok(onnx::load(random.pick(&["", "/tmp", "/no/such"])).map(drop)?)),
    ("options of a model", |random, _| {
        let text = format!("2 * ({}", random.text());
        let options = onnx::Options { dims: &[("x", text.as_str().into())], ..Default::default() };
        Ok(onnx::load_bytes(&[8, 7], &options).map(drop)?)
    }),
];

/// x f32[B, 4], ids i64[N] and flags bool[N] of a graph.
fn values(graph: &Graph) -> Result<[Value<'_>; 3]> {
    let n = graph.symbol("N")?;
    let batch = graph.symbol("batch")?;
    let x = graph.input("x", DType::F32, &dims![batch, 4])?;
    Ok([x, graph.input("ids", DType::I64, &dims![n])?, graph.input("flags", DType::BOOL, &dims![n])?])
}

/// A mistake in a graph with these values.
type GraphMistake = for<'g> fn(&mut Random, &'g Graph, [Value<'g>; 3]) -> Result<()>;

const GRAPHS: &[(&str, GraphMistake)] = &[
    ("a value of another graph", |random, graph, [x, ids, _]| {
        let other = Graph::new("other")?;
        let foreign = other.input("x", DType::F32, &dims![4])?;
        match random.below(5) {
            0 => (x + foreign).map(drop),
            1 => graph.output("y", foreign),
            2 => graph.concat(&[x, foreign], 0).map(drop),
            3 => foreign.gather(ids).map(drop),
            _ => graph.while_(&[foreign], &other, &other, &[]).map(drop),
        }
    }),
    ("a dim of another graph", |random, graph, [x, ..]| {
        let other = Graph::new("other")?;
        let dim = other.symbol("batch")?;
        match random.below(5) {
            0 => graph.input("z", DType::F32, &dims![dim]).map(drop),
            1 => x.reshape(&dims![dim, 4]).map(drop),
            2 => graph.assume_equal(dim, 3),
            3 => (x.shape()?[0] + dim).map(drop),
            _ => graph.symbol("q")?.is_less(dim).map(drop),
        }
    }),
    ("an element type", |random, graph, [x, ..]| {
        let dtype = DType(random.pick(&[i32::MIN, -1, 0, 14, 255, i32::MAX]));
        match random.below(4) {
            0 => graph.input("z", dtype, &[]).map(drop),
            1 => x.cast(dtype).map(drop),
            2 => graph.scalar(dtype, 1.0).map(drop),
            _ => graph.iota(&dims![4], 0, dtype).map(drop),
        }
    }),
    ("a name", |random, graph, [x, ..]| match random.below(6) {
        0 => graph.input(random.pick(&["", "x"]), DType::F32, &[]).map(drop),
        1 => graph.output("", x),
        2 => graph.output("y", x).and_then(|()| graph.output("y", x)),
        3 => graph.symbol(random.pick(&["", "batch", "N"])).map(drop),
        4 => graph.custom("", &[x], &[], CustomOptions::default()).map(drop),
        _ => x.scan(0, &random.text()).map(drop),
    }),
    ("a symbol", |random, graph, _| {
        let symbol = match random.below(5) {
            0 => Symbol { min: random.negative(), ..Default::default() },
            1 => Symbol { min: 5, max: 4, ..Default::default() },
            2 => Symbol { multiple_of: random.pick(&[0, -1, i64::MIN]), ..Default::default() },
            3 => Symbol { min: 1, max: 3, multiple_of: 4, ..Default::default() },
            _ => Symbol { max: 4, likely: &[5], ..Default::default() },
        };
        graph.symbol_with("S", symbol).map(drop)
    }),
    ("a constant", |random, graph, _| {
        let data = vec![1f32; 1 + random.below(9)];
        match random.below(4) {
            0 => graph.constant("c", &data, &[data.len() as i64 + 1]).map(drop),
            1 => graph.constant("c", &data, &[random.negative()]).map(drop),
            2 => graph.constant("c", &data, &[1; 9]).map(drop),
            _ => graph.constant_from("c", data, &[i64::MAX, 4]).map(drop),
        }
    }),
    ("a shape", |random, graph, [x, ..]| match random.below(5) {
        0 => graph.input("z", DType::F32, &dims![random.negative()]).map(drop),
        1 => graph.input("z", DType::F32, &dims![1, 1, 1, 1, 1, 1, 1, 1, 1]).map(drop),
        2 => x.broadcast(&dims![7, 5]).map(drop),
        3 => x.slice(&dims![0], &dims![1]).map(drop),
        _ => x.pad(0.0, &dims![1], &dims![1, 2, 3]).map(drop),
    }),
    ("an axis", |random, graph, [x, ..]| {
        let axis = random.axis();
        match random.below(8) {
            0 => x.reduce_sum(&[axis]).map(drop),
            1 => x.transpose(&[axis, 0]).map(drop),
            2 => x.softmax(axis).map(drop),
            3 => graph.concat(&[x, x], axis).map(drop),
            4 => graph.iota(&dims![4, 4], axis, DType::I64).map(drop),
            5 => x.sort(axis, false).map(drop),
            6 => x.unique(Some(axis), true).map(drop),
            _ => x.top_k(2, axis, true).map(drop),
        }
    }),
    ("operands of wrong types", |random, _, [x, ids, flags]| match random.below(6) {
        0 => (x + ids).map(drop),
        1 => x.dot(flags).map(drop),
        2 => x.gather(x).map(drop),
        3 => ids.select(x, x).map(drop),
        4 => flags.exp().map(drop),
        _ => (!x).map(drop),
    }),
    ("operands of wrong shapes", |random, graph, [x, ..]| {
        let w = graph.constant("w", &[1f32; 15], &[3, 5])?;
        match random.below(5) {
            0 => x.dot(w).map(drop),
            1 => graph.concat(&[x, w], 0).map(drop),
            2 => x.layer_norm(Some(w), None, 1e-5).map(drop),
            3 => x.attention(w, w, None, None).map(drop),
            _ => x.rnn(w, w, Recurrence::default()).map(drop),
        }
    }),
    ("windows", |random, graph, [x, ..]| {
        let image = graph.input("image", DType::F32, &dims![1, 3, 8, 8])?;
        let weights = graph.constant("weights", &[1f32; 27], &[1, 3, 3, 3])?;
        let plain = Spatial::default();
        match random.below(6) {
            0 => image.conv(weights, None, random.negative(), plain).map(drop),
            1 => image.conv(weights, None, 2, plain).map(drop),
            2 => image.conv(weights, None, 1, Spatial { strides: &[0, 1], ..plain }).map(drop),
            3 => image.conv(weights, None, 1, Spatial { strides: &[1], dilations: &[1, 1], ..plain }).map(drop),
            4 => image.max_pool(&dims![2], plain).map(drop),
            _ => x.conv(weights, None, 1, plain).map(drop),
        }
    }),
    ("a recurrent layer", |random, graph, _| {
        let x = graph.input("steps", DType::F32, &dims![5, 2, 3])?;
        let (w, r) = (graph.constant("w", &[1f32; 12], &[4, 3])?, graph.constant("r", &[1f32; 16], &[4, 4])?);
        let name = format!("no {}", random.text());
        let names = [Activation { name: &name, ..Default::default() }];
        match random.below(3) {
            0 => x.rnn(w, r, Recurrence { activations: &names, ..Default::default() }).map(drop),
            1 => x.rnn(w, r, Recurrence { bias: Some(r), ..Default::default() }).map(drop),
            _ => x.lstm(w, r, Recurrence::default()).map(drop),
        }
    }),
    ("regions", |random, graph, [x, _, flags]| {
        let region = build("region", 4)?;
        let empty = Graph::new("empty")?;
        let truth = graph.scalar(DType::BOOL, 1.0)?;
        match random.below(4) {
            0 => graph.while_(&[x], &region, &region, &[]).map(drop),
            1 => graph.if_(flags, &[x], &region, &region, &[]).map(drop),
            2 => graph.if_(truth, &[x], &region, &empty, &[]).map(drop),
            _ => graph.if_(truth, &[x, x], &region, &region, &[]).map(drop),
        }
    }),
    ("results of an operator", |random, graph, [x, ..]| {
        let shape = dims![4];
        let counted_dim = Some(random.pick(&[1, 2, 77, usize::MAX]));
        let result = CustomResult { dtype: DType::F32, dims: &shape, counted_dim };
        let dtype = DType(random.pick(&[0, -5, 99]));
        match random.below(3) {
            0 => graph.custom("op", &[x], &[result], CustomOptions::default()).map(drop),
            1 => graph.custom("op", &[x], &[], CustomOptions::default()).map(drop),
            _ => {
                let result = CustomResult { dtype, counted_dim: None, ..result };
                graph.custom("op", &[x], &[result], CustomOptions::default()).map(drop)
            }
        }
    }),
    ("text", |random, graph, [x, ..]| {
        graph.output("y", x)?;
        let text = graph.text()?;
        let end = (0..=random.below(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        let end = end.min(text.trim_end().len() - 1);
        Graph::parse(if random.below(2) == 0 { &text[..end] } else { "graph @ {" }).map(drop)
    }),
    ("compiling", |random, graph, [x, ..]| {
        let last = random.below(8);
        if last != 0 {
            graph.output("y", x.exp()?)?;
        }
        let (name, key) = (format!("none{}", random.text()), [0u8; 64]);
        let names = [name.as_str()];
        let host = CompileOptions { targets: &["host"], ..Default::default() };
        let mut no = |_: &str, _: f64| false;
        let mut uses = |_: &str, _: f64| graph.text().is_ok();
        let options = match last {
            0 => host,
            1 => CompileOptions { targets: &names, ..host },
            2 => CompileOptions { donated: &names, ..host },
            3 => CompileOptions { device: Device::Cuda(random.pick(&[-1, 500])), ..host },
            4 => CompileOptions { memory_limit: 1, ..host },
            5 => CompileOptions { isolated: true, worker: Some("/no/such/worker".as_ref()), ..host },
            6 => CompileOptions { progress: Some(&mut no), ..host },
            _ => CompileOptions { progress: Some(&mut uses), secret_key: Some(&key), ..host },
        };
        graph.compile_with(options).map(drop)
    }),
];

/// Runs program `seed`; what is wrong with how it ended.
fn program(seed: u64, world: &World, session: &mut Session) -> std::result::Result<(), String> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let all = RUNS.len() + LOADS.len() + GRAPHS.len();
    let which = random.below(all);
    let (name, result) = if which < RUNS.len() + LOADS.len() {
        let (name, mistake) = if which < RUNS.len() { RUNS[which] } else { LOADS[which - RUNS.len()] };
        (name, mistake(&mut random, world))
    } else {
        let (name, mistake) = GRAPHS[which - RUNS.len() - LOADS.len()];
        let graph = Graph::new("random").unwrap();
        let values = values(&graph).unwrap();
        let result = mistake(&mut random, &graph, values);
        graph.output("after", values[0]).map_err(|error| format!("{}: the graph is unusable: {}", name, error))?;
        (name, result)
    };
    match result {
        Ok(()) => return Err(format!("program {}: {}: no error", seed, name)),
        Err(error) if error.message.is_empty() => return Err(format!("program {}: {}: no message", seed, name)),
        Err(_) => {}
    }
    let rows = 1 + random.below(64);
    let x = vec![seed as f32; rows * 4];
    let outputs = session.run(&[Tensor::new(&x, &[rows as i64, 4])]).map_err(|error| error.to_string())?;
    let y = outputs.get::<f32>(0).map_err(|error| error.to_string())?;
    if y != vec![seed as f32 + 1.0; rows * 4] {
        return Err(format!("program {}: {}: a run after it is wrong", seed, name));
    }
    Ok(())
}

#[test]
fn two_hundred_programs_with_a_mistake_get_an_error() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {})); // operators panic
    let world = World::new().unwrap();
    let mut session = world.executable.session(1).unwrap();
    let first: u64 = std::env::var("TAILOR_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let count: u64 = std::env::var("TAILOR_TEST_COUNT").ok().and_then(|count| count.parse().ok()).unwrap_or(200);
    let programs = first..first + count;
    let wrong: Vec<String> = programs.filter_map(|seed| program(seed, &world, &mut session).err()).collect();
    std::panic::set_hook(hook);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
