//! Runs: inputs and outputs, cancelling, counters, traces.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tailor::graph::{CompileOptions, Graph};
use tailor::{dims, Canceller, Counters, DType, Device, Error, ErrorCode, Executable, LoadOptions, Outputs};
use tailor::{Runtime, RuntimeOptions, Session, SessionOptions, TakenTensor, Tensor, TensorMut, TensorView, TraceEvent};

mod rust_program;
use rust_program::{compiled, compiled_for, error_of, example};

#[test]
fn handles_are_send_and_sync_where_that_is_sound() {
    fn send<T: Send>() {}
    fn sync<T: Sync>() {}
    send::<Session>();
    send::<Graph>();
    send::<SessionOptions>();
    fn both<T: Send + Sync>() {
        send::<T>();
        sync::<T>();
    }
    both::<Executable>();
    both::<Runtime>();
    both::<Canceller>();
    both::<Error>();
    both::<Tensor<'_>>();
    both::<TensorMut<'_>>();
    both::<TensorView<'_>>();
    both::<TakenTensor>();
    both::<Outputs<'_>>();
}

#[test]
fn outputs_are_views() {
    let mut session = compiled().session(1).unwrap();
    let (x, y, total) = example(3);
    let outputs = session.run(&[Tensor::new(&x, &[3, 4])]).unwrap();
    assert_eq!((outputs[0].shape(), outputs[1].shape()), (&[3, 4][..], &[3][..]));
    assert_eq!(outputs[0].as_slice::<f32>().unwrap(), y);
    assert_eq!(outputs.named("total").unwrap().to_vec::<f32>().unwrap(), total);
    assert_eq!(error_of(outputs.named("none")).message, "there is no output \"none\"");
    assert_eq!(error_of(outputs[1].as_slice::<f64>()).message, "output 1 is f32, not f64");
    assert_eq!(format!("{:?}", outputs[0]), "f32[3, 4]");
    let slice = outputs.get::<f32>(0).unwrap(); // outlives the list of views, not the borrow of the session
    let sums = thread::scope(|scope| {
        let sums: Vec<_> = outputs.iter().map(|o| scope.spawn(move || o.as_slice::<f32>().unwrap().len())).collect();
        sums.into_iter().map(|sum| sum.join().unwrap()).sum::<usize>()
    });
    drop(outputs);
    assert_eq!((sums, slice), (15, &y[..]));
}

#[test]
fn outputs_may_be_taken() {
    let mut session = compiled().session(1).unwrap();
    let (x, y, total) = example(3);
    let mut taken = session.run_owned(&[Tensor::new(&x, &[3, 4])]).unwrap();
    assert_eq!((taken[0].shape(), taken[0].dtype()), (&[3, 4][..], DType::F32));
    assert_eq!((taken[0].as_slice::<f32>().unwrap(), taken[1].as_slice::<f32>().unwrap()), (&y[..], &total[..]));
    assert_eq!(error_of(taken[1].as_slice::<f64>()).message, "output 1 is f32, not f64");
    assert_eq!(format!("{:?}", taken[0]), "f32[3, 4]");
    let mut want = y;
    for _ in 0..5 {
        let next = session.run_owned(&[Tensor::from(&taken[0])]).unwrap();
        assert_eq!(taken[0].as_slice::<f32>().unwrap(), want); // what a run reads stays
        want.iter_mut().for_each(|v| *v = 2.0 * *v + 1.0);
        taken = next;
        assert_eq!(taken[0].as_slice::<f32>().unwrap(), want);
    }
    let executable = session.executable().clone();
    drop(session);
    drop(executable); // the memory keeps what frees it
    assert_eq!(taken[0].view().to_vec::<f32>().unwrap(), want);
    thread::spawn(move || drop(taken)).join().unwrap();
}

#[test]
fn taken_outputs_give_their_memory_back() {
    let executable = compiled();
    let mut session = executable.session(1).unwrap();
    let (x, ..) = example(2000);
    let mut growths = 0;
    let mut last = None;
    for rows in 1000..2000usize {
        let taken = session.run_owned(&[Tensor::new(&x[..rows * 4], &[rows as i64, 4])]).unwrap();
        last = Some(taken);
        growths = executable.counters().unwrap().workspace_growths;
    }
    assert!(growths < 60, "{} allocations in 1000 runs", growths);
    drop(last);
    session.trim().unwrap();
    assert_eq!(executable.counters().unwrap().workspace_bytes, 0);
}

#[test]
fn outputs_may_be_the_callers() {
    let executable = compiled();
    let mut session = executable.session(1).unwrap();
    for rows in [1usize, 5, 2] {
        let (x, y, total) = example(rows);
        let n = rows as i64;
        let inputs = [Tensor::new(&x, &[n, 4])];
        let (mut given_y, mut given_total) = (vec![0.0f32; rows * 4], vec![0.0f32; 8]);
        let mut outputs = [TensorMut::new(&mut given_y, &[n, 4]), TensorMut::open(&mut given_total)];
        session.run_into(&inputs, &mut outputs).unwrap();
        assert_eq!(outputs[1].shape(), [n]);
        assert_eq!(outputs[1].as_slice::<f32>().unwrap(), total);
        outputs[1].as_mut_slice::<f32>().unwrap()[0] = -1.0;
        assert_eq!((given_y, given_total[0]), (y.clone(), -1.0));

        let mut given_y = vec![0.0f32; 20];
        let mut outputs = [TensorMut::new(&mut given_y, &[-1, 4]), TensorMut::none()];
        assert!(error_of(outputs[0].as_slice::<f32>()).message.contains("too small for f32[-1, 4]"));
        session.run_into(&inputs, &mut outputs).unwrap();
        assert_eq!((outputs[0].shape(), outputs[0].as_slice::<f32>().unwrap()), (&[n, 4][..], &y[..]));
        executable.run_into(&inputs, &mut [TensorMut::open(&mut given_total), TensorMut::none()]).unwrap_err();
    }
}

#[test]
fn wrong_memory_for_outputs_is_an_error() {
    let executable = compiled();
    let mut session = executable.session(1).unwrap();
    let (x, y, _) = example(3);
    let inputs = [Tensor::new(&x, &[3, 4])];
    let mut total = [7.0f32; 3];
    let mut small = [0.0f32; 11];
    let mut halves = [tailor::F16(0); 12];
    for wrong in [
        TensorMut::new(&mut small, &[3, 4]),
        TensorMut::new(&mut [0.0f32; 12], &[4, 3]),
        TensorMut::new(&mut [0.0f32; 12], &[12]),
        TensorMut::new(&mut [0.0f32; 12], &[i64::MAX, i64::MAX]),
        TensorMut::new(&mut [0.0f32; 12], &[1; 9]),
        TensorMut::new(&mut [0.0f64; 12], &[3, 4]),
        TensorMut::open(&mut halves),
    ] {
        let error = error_of(session.run_into(&inputs, &mut [wrong, TensorMut::open(&mut total)]));
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        assert!(error.message.contains("\"y\""), "{}", error);
    }
    assert_eq!(error_of(session.run_into(&inputs, &mut [])).code, ErrorCode::InvalidArgument);
    assert_eq!(session.run(&inputs).unwrap().get::<f32>(0).unwrap(), y);
}

#[test]
fn memory_may_be_bound() {
    let mut session = compiled().session(1).unwrap();
    let (mut x, mut y, mut total) = ([0.0f32; 8], [0.0f32; 8], [0.0f32; 2]);
    let inputs = vec![TensorMut::new(&mut x, &[2, 4])];
    let outputs = vec![TensorMut::new(&mut y, &[2, 4]), TensorMut::new(&mut total, &[2])];
    let mut bound = session.bind(inputs, outputs).unwrap();
    for step in 0..3 {
        bound.input::<f32>(0).unwrap().fill(step as f32);
        bound.run().unwrap();
        assert_eq!(bound.output::<f32>(1).unwrap(), [(2.0 * step as f32 + 1.0) * 4.0; 2]);
    }
    assert_eq!(error_of(bound.output::<f32>(2)).message, "there is no output 2");
    assert_eq!(error_of(bound.input::<f64>(0)).code, ErrorCode::InvalidArgument);
    assert_eq!(error_of(bound.input::<f32>(1)).message, "there is no input 1");
    drop(bound);
    assert_eq!(y, [5.0; 8]);
    let wrong = session.bind(vec![], vec![]);
    assert_eq!(error_of(wrong).code, ErrorCode::InvalidArgument);
}

#[test]
fn donated_memory_is_written_once_at_a_time() {
    let graph = Graph::new("donated").unwrap();
    let batch = graph.symbol("B").unwrap();
    let x = graph.input("x", DType::F32, &dims![batch]).unwrap();
    graph.output("y", (x + 1.0).unwrap()).unwrap();
    let options = CompileOptions { targets: &["host"], donated: &["x"], ..Default::default() };
    let executable = graph.compile_with(options).unwrap();
    let (mut session, mut data) = (executable.session(1).unwrap(), [1.0f32, 2.0]);
    let inputs = [Tensor::donated(&mut data, &[2])];
    session.run_into(&inputs, &mut [TensorMut::none()]).unwrap();
    executable.run_into(&inputs, &mut [TensorMut::none()]).unwrap();
    let meanwhile = || error_of(executable.run_into(&inputs, &mut [TensorMut::none()]));
    let (_, error) = session.run_while(&inputs, |_| meanwhile()).unwrap();
    assert_eq!(error.code, ErrorCode::FailedPrecondition);
    assert_eq!(error.message, "input 0 is donated, and in use by another run");
    assert_eq!(data, [4.0, 5.0]);
    let bound = session.bind(vec![TensorMut::new(&mut data, &[2])], vec![TensorMut::none()]);
    bound.unwrap().run().unwrap();
    assert_eq!(data, [5.0, 6.0]);
    let error = error_of(session.run(&[Tensor::new(&data, &[2])]));
    assert_eq!(error.message, "input \"x\" is donated: make it with Tensor::donated");
}

#[test]
fn many_threads_run_one_executable() {
    let executable = compiled();
    thread::scope(|scope| {
        for rows in 1..9usize {
            let executable = &executable;
            scope.spawn(move || {
                let (x, y, total) = example(rows);
                let (mut given_y, mut given_total) = (vec![0.0f32; rows * 4], vec![0.0f32; rows]);
                for _ in 0..50 {
                    let inputs = [Tensor::new(&x, &[rows as i64, 4])];
                    let mut outputs = [TensorMut::new(&mut given_y, &[-1, 4]), TensorMut::open(&mut given_total)];
                    executable.run_into(&inputs, &mut outputs).unwrap();
                }
                assert_eq!((given_y, given_total), (y, total));
            });
        }
    });
}

#[test]
fn a_session_moves_between_threads() {
    let mut session = compiled().session(2).unwrap();
    let (x, y, _) = example(2);
    for _ in 0..3 {
        let (x, y) = (&x, &y);
        session = thread::scope(|scope| {
            let run = move || {
                assert_eq!(session.run(&[Tensor::new(x, &[2, 4])]).unwrap().get::<f32>(0).unwrap(), y);
                session
            };
            scope.spawn(run).join().unwrap()
        });
    }
}

/// A session of a program that counts to 2^62, and its input.
fn counting(options: SessionOptions) -> (Session, [i64; 1]) {
    let condition = Graph::new("condition").unwrap();
    let i = condition.input("i", DType::I64, &[]).unwrap();
    condition.output("more", i.lt(4.6e18).unwrap()).unwrap();
    let body = Graph::new("body").unwrap();
    let i = body.input("i", DType::I64, &[]).unwrap();
    body.output("i", (i + 1).unwrap()).unwrap();
    let graph = Graph::new("count").unwrap();
    let i = graph.input("i", DType::I64, &[]).unwrap();
    let counted = graph.while_(&[i], &condition, &body, &[]).unwrap()[0];
    graph.output("i", counted).unwrap();
    let executable = graph.compile_with(CompileOptions { targets: &["host"], ..Default::default() }).unwrap();
    (executable.session_with(options).unwrap(), [0])
}

#[test]
fn runs_can_be_cancelled() {
    let (mut session, start) = counting(SessionOptions::default());
    let inputs = [Tensor::new(&start, &[])];
    let canceller = session.canceller();
    let other = canceller.clone();
    let running = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        other.cancel();
    });
    assert_eq!(error_of(session.run(&inputs)).code, ErrorCode::Cancelled);
    running.join().unwrap();
    canceller.cancel(); // the next run
    assert_eq!(error_of(session.run(&inputs)).code, ErrorCode::Cancelled);
    canceller.cancel();
    canceller.uncancel();
    let almost = [i64::MAX - 5];
    assert_eq!(session.run(&[Tensor::new(&almost, &[])]).unwrap().get::<i64>(0).unwrap(), almost);
    drop(session);
    canceller.cancel(); // there is nothing to cancel
}

#[test]
fn runs_have_deadlines() {
    let timeout = Some(Duration::from_millis(10));
    let (mut session, start) = counting(SessionOptions { timeout, ..Default::default() });
    let (inputs, almost) = ([Tensor::new(&start, &[])], [i64::MAX - 5]);
    assert_eq!(error_of(session.run(&inputs)).code, ErrorCode::DeadlineExceeded);
    session.set_timeout(Some(Duration::ZERO)).unwrap();
    assert_eq!(error_of(session.run(&inputs)).code, ErrorCode::DeadlineExceeded);
    session.set_timeout(Some(Duration::MAX)).unwrap();
    assert_eq!(session.run(&[Tensor::new(&almost, &[])]).unwrap().get::<i64>(0).unwrap(), almost);
    session.set_timeout(None).unwrap();
    assert_eq!(session.run(&[Tensor::new(&almost, &[])]).unwrap().get::<i64>(0).unwrap(), almost);
}

#[test]
fn perf_finds_the_names_of_kernels() {
    let path = format!("/tmp/perf-{}.map", std::process::id());
    let options = RuntimeOptions { perf_map: true, ..Default::default() };
    let executable = compiled_for(&Runtime::with_options(options).unwrap());
    let map = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    assert!(executable.launches().unwrap().iter().all(|launch| map.contains(&launch.kernel)), "{}", map);
}

#[test]
fn executables_count_and_are_trimmed() {
    let options = RuntimeOptions { pooled_sessions: 1, ..Default::default() };
    let executable = compiled_for(&Runtime::with_options(options).unwrap());
    let (x, _, _) = example(100);
    let inputs = [Tensor::new(&x, &[100, 4])];
    let mut session = executable.session(1).unwrap();
    session.run(&inputs).unwrap();
    session.run(&[]).unwrap_err();
    session.canceller().cancel();
    session.run(&inputs).unwrap_err();
    let (mut y, mut total) = (vec![0.0f32; 400], vec![0.0f32; 100]);
    executable.run_into(&inputs, &mut [TensorMut::open(&mut y), TensorMut::open(&mut total)]).unwrap();
    let counters = executable.counters().unwrap();
    assert_eq!((counters.runs, counters.failed_runs, counters.cancelled_runs), (4, 2, 1));
    assert_eq!((counters.sessions, counters.pooled_sessions, counters.runs_in_progress), (2, 1, 0));
    assert!(counters.workspace_bytes > 0);
    session.trim().unwrap();
    executable.trim().unwrap();
    let counters = executable.counters().unwrap();
    assert_eq!((counters.sessions, counters.pooled_sessions, counters.workspace_bytes), (1, 0, 0));
    let wrong = RuntimeOptions { pooled_sessions: 5000, ..Default::default() };
    assert_eq!(error_of(Runtime::with_options(wrong)).code, ErrorCode::InvalidArgument);
}

#[test]
fn launches_and_runs_are_traced() {
    let events = Arc::new(Mutex::new(Vec::new()));
    let seen = events.clone();
    let trace = Box::new(move |event: TraceEvent| seen.lock().unwrap().push(event));
    let executable = compiled();
    let mut session = executable.session_with(SessionOptions { trace: Some(trace), ..Default::default() }).unwrap();
    let (x, _, _) = example(3);
    let inputs = [Tensor::new(&x, &[3, 4])];
    let chosen = executable.plan(&inputs, 1).unwrap().chosen;
    session.run(&inputs).unwrap();
    let events = events.lock().unwrap();
    let launched: Vec<_> = events.iter().map(|event| (event.launch, event.version)).collect();
    let mut expected: Vec<_> = chosen.iter().enumerate().map(|(launch, &version)| (Some(launch), version)).collect();
    expected.push((None, None));
    assert_eq!(launched, expected);
    let run = events.last().unwrap();
    for event in events.iter() {
        assert!(run.begin_ns <= event.begin_ns && event.end_ns <= run.end_ns && event.duration() <= run.duration());
    }
}

#[test]
fn a_graph_survives_an_owner_that_panics() {
    struct Owner;
    impl AsRef<[f32]> for Owner {
        fn as_ref(&self) -> &[f32] {
            panic!("no elements")
        }
    }
    let graph = Graph::new("owner").unwrap();
    catch_unwind(AssertUnwindSafe(|| graph.constant_from("c", Owner, &[1]).map(|_| ()))).unwrap_err();
    graph.constant("c", &[1.0f32], &[1]).unwrap();
}

#[test]
fn executables_say_what_they_are() {
    let executable = compiled();
    assert_eq!(format!("{:?}", executable), "Executable((x: f32[B, 4]) -> (y: f32[B, 4], total: f32[B]))");
    let symbols = executable.symbols().unwrap();
    assert_eq!((symbols[0].name.as_str(), symbols[0].min, symbols[0].multiple_of), ("B", 0, 1));
    assert!(executable.describe().unwrap().starts_with('{'));
    let x = [0f32; 12];
    let plan = executable.plan(&[Tensor::new(&x, &[3, 4])], 1).unwrap();
    assert_eq!(plan.outputs, [vec![Some(3), Some(4)], vec![Some(3)]]);
    assert_eq!(plan.chosen.len(), executable.launches().unwrap().len());
    assert!(plan.kernels > 0 && plan.code_bytes > 0 && !plan.data_dependent);
    assert_eq!(error_of(executable.plan(&[], 1)).code, ErrorCode::InvalidArgument);
    let path = std::env::temp_dir().join(format!("tailor_rust_run_{}.tlr", std::process::id()));
    executable.save(&path).unwrap();
    assert!(tailor::describe_artifact(&path).unwrap().starts_with('{'));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(error_of(tailor::describe_artifact(&path)).code, ErrorCode::NotFound);
    let error = error_of(Executable::load_with(&path, &LoadOptions { target: Some("x\0"), ..Default::default() }));
    assert_eq!(error.code, ErrorCode::InvalidArgument);
}

#[test]
fn reserved_memory_does_not_grow() {
    let mut session = compiled().session(1).unwrap();
    let (x, y, _) = example(50);
    session.reserve(&[Tensor::new(&x, &[50, 4])]).unwrap();
    assert_eq!(session.run(&[Tensor::new(&x, &[50, 4])]).unwrap().get::<f32>(0).unwrap(), y);
    assert!(Counters::read().runs > 0);
    assert_eq!(session.executable().inputs()[0].name, "x");
}

#[test]
fn devices_are_listed() {
    let runtime = Runtime::new().unwrap();
    let devices = runtime.devices().unwrap();
    assert_eq!(devices[0].device, Device::Cpu);
    assert!(devices[0].name.starts_with("x86-64") && devices[0].memory_bytes > 0);
    assert_eq!(devices.len() == 1, !runtime.cuda_absence().is_empty());
}
