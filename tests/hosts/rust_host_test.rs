//! What the host gives a runtime and its sessions: executors, allocators, logs; and panics of these.

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use tailor::graph::{CompileOptions, Graph};
use tailor::{dims, DType, Device, ErrorCode, Executable, LoadOptions, LogLevel};
use tailor::{Runtime, RuntimeOptions, Session, SessionOptions, Tensor, TensorMut};

mod rust_program;
use rust_program::{compiled, compiled_for, error_of, example};

#[test]
fn a_runtime_may_have_the_executor_of_all_sessions() {
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = calls.clone();
    let parallel_for = move |task: &(dyn Fn(usize) + Sync), count: usize| {
        if seen.fetch_add(1, Ordering::SeqCst) == 2 {
            panic!("the pool is gone");
        }
        thread::scope(|scope| (0..count).for_each(|i| drop(scope.spawn(move || task(i)))))
    };
    let options =
        RuntimeOptions { parallel_for: Some(Box::new(parallel_for)), parallel_threads: 3, ..Default::default() };
    let executable = compiled_for(&Runtime::with_options(options).unwrap());
    let (x, y, total) = example(20_000);
    let inputs = [Tensor::new(&x, &[20_000, 4])];
    let (mut given_y, mut given_total) = (vec![0.0f32; 80_000], vec![0.0f32; 20_000]);
    let mut run = || {
        let mut outputs = [TensorMut::open(&mut given_y), TensorMut::open(&mut given_total)];
        executable.run_into(&inputs, &mut outputs).unwrap();
        assert_eq!(outputs[0].as_slice::<f32>().unwrap(), y);
    };
    run();
    let once = calls.load(Ordering::SeqCst);
    assert!(once > 0);
    while calls.load(Ordering::SeqCst) < 2 {
        run();
    }
    let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("a panic");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the pool is gone"));
    let mut session = executable.session(0).unwrap();
    assert_eq!(session.run(&inputs).unwrap().get::<f32>(1).unwrap(), total);
    assert!(calls.load(Ordering::SeqCst) > 3);
}

#[derive(Default)]
struct Counting {
    live: AtomicUsize,
    calls: AtomicUsize,
    fails: AtomicUsize,
}

struct Shared(Arc<Counting>);

// SAFETY: it is the system's allocator.
unsafe impl GlobalAlloc for Shared {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match self.0.fails.load(Ordering::SeqCst) {
            0 => {}
            1 => return std::ptr::null_mut(),
            _ => panic!("no memory"),
        }
        self.0.calls.fetch_add(1, Ordering::SeqCst);
        self.0.live.fetch_add(layout.size(), Ordering::SeqCst);
        System.alloc(layout)
    }
    unsafe fn dealloc(&self, data: *mut u8, layout: Layout) {
        self.0.live.fetch_sub(layout.size(), Ordering::SeqCst);
        System.dealloc(data, layout)
    }
}

#[test]
fn memory_comes_from_the_hosts_allocator() {
    let counting = Arc::new(Counting::default());
    let allocator = Box::new(Shared(counting.clone()));
    let options = RuntimeOptions { allocator: Some(allocator), ..Default::default() };
    let executable = compiled_for(&Runtime::with_options(options).unwrap());
    let (x, y, _) = example(100);
    let inputs = [Tensor::new(&x, &[100, 4])];
    let mut session = executable.session(1).unwrap();
    for (fails, code) in [(1, ErrorCode::ResourceExhausted), (2, ErrorCode::ResourceExhausted)] {
        counting.fails.store(fails, Ordering::SeqCst);
        assert_eq!(error_of(session.run(&inputs)).code, code);
    }
    counting.fails.store(0, Ordering::SeqCst);
    assert_eq!(session.run(&inputs).unwrap().get::<f32>(0).unwrap(), y);
    let calls = counting.calls.load(Ordering::SeqCst);
    assert!(calls > 0 && counting.live.load(Ordering::SeqCst) >= 100 * 16);
    session.run(&inputs).unwrap();
    assert_eq!(counting.calls.load(Ordering::SeqCst), calls);
    drop(executable);
    assert_eq!(Arc::strong_count(&counting), 2, "the session needs it");
    drop(session);
    assert_eq!((counting.live.load(Ordering::SeqCst), Arc::strong_count(&counting)), (0, 1));
}

#[test]
fn closures_of_a_runtime_live_as_long_as_its_executables() {
    let (kept, level) = (Arc::new(()), Arc::new(Mutex::new(Vec::<LogLevel>::new())));
    let (held, seen) = (kept.clone(), level.clone());
    let log = Box::new(move |level, _: &str| {
        let _ = &held;
        seen.lock().unwrap().push(level);
    });
    let runtime = Runtime::with_options(RuntimeOptions { log: Some(log), ..Default::default() }).unwrap();
    let executable = compiled_for(&runtime);
    drop(runtime);
    let again = executable.clone();
    drop(executable);
    assert_eq!(Arc::strong_count(&kept), 2);
    drop(again);
    assert_eq!(Arc::strong_count(&kept), 1);
}

/// Runs `session` on enough rows for an executor; the text of the panic of the run.
fn panic_of(session: &mut Session) -> String {
    let (x, ..) = example(20_000);
    let run = AssertUnwindSafe(|| session.run(&[Tensor::new(&x, &[20_000, 4])]).map(|outputs| outputs.len()));
    let panic = catch_unwind(run).expect_err("a panic");
    panic.downcast_ref::<&str>().copied().unwrap_or("?").to_owned()
}

#[test]
fn panics_go_on_where_the_run_was_called() {
    let executable = compiled();
    let executor = move |task: &(dyn Fn(usize) + Sync), count: usize| {
        task(count - 1);
        panic!("the pool is gone");
    };
    let mut session = executable.session_on(4, executor).unwrap();
    assert_eq!(panic_of(&mut session), "the pool is gone");
    let (x, y, _) = example(2); // too small to divide
    assert_eq!(session.run(&[Tensor::new(&x, &[2, 4])]).unwrap().get::<f32>(0).unwrap(), y);

    let mut calls = 0;
    let trace = Box::new(move |_| {
        calls += 1;
        assert!(calls > 1, "not the first");
    });
    let mut session = executable.session_with(SessionOptions { trace: Some(trace), ..Default::default() }).unwrap();
    assert_eq!(panic_of(&mut session), "not the first");
    assert_eq!(session.run(&[Tensor::new(&x, &[2, 4])]).unwrap().get::<f32>(0).unwrap(), y);

    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("a destructor");
        }
    }
    let runtime = Runtime::new().unwrap();
    let bomb = Bomb;
    let function = move |_: &tailor::CustomCall<'_>| {
        let _ = &bomb;
        std::panic::panic_any(Payload)
    };
    /// What is panicked with may panic when it is dropped.
    struct Payload;
    impl Drop for Payload {
        fn drop(&mut self) {
            panic!("a payload");
        }
    }
    runtime.register("bomb", Device::Cpu, function).unwrap();
    let graph = Graph::new("bomb").unwrap();
    let dims = dims![1];
    let result = tailor::graph::CustomResult { dtype: DType::F32, dims: &dims, counted_dim: None };
    let value = graph.custom("bomb", &[], &[result], Default::default()).unwrap()[0];
    graph.output("y", value).unwrap();
    let options = CompileOptions { targets: &["host"], runtime: Some(&runtime), ..Default::default() };
    let executable = graph.compile_with(options).unwrap();
    let error = error_of(executable.session(1).unwrap().run(&[]));
    assert_eq!((error.code, error.message.contains("a value that is no text")), (ErrorCode::Internal, true));
    drop((executable, runtime)); // with the bomb
}

/// Runs a session of a program with two kernels, each large enough to divide; the panic of the run.
fn panic_of_two_kernels<F>(parallel_for: F) -> Box<dyn std::any::Any + Send>
where
    F: Fn(&(dyn Fn(usize) + Sync), usize) + Send + Sync + 'static,
{
    let graph = Graph::new("two").unwrap();
    for (name, symbol, output) in [("x", "B", "exp of x"), ("y", "C", "exp of y")] {
        let input = graph.input(name, DType::F32, &dims![graph.symbol(symbol).unwrap(), 64]).unwrap();
        graph.output(output, input.exp().unwrap()).unwrap();
    }
    let mut session = graph.compile().unwrap().session_on(2, parallel_for).unwrap();
    let (x, y) = (vec![0.0f32; 64 * 10_000], vec![0.0f32; 64 * 20_000]);
    let inputs = [Tensor::new(&x, &[10_000, 64]), Tensor::new(&y, &[20_000, 64])];
    catch_unwind(AssertUnwindSafe(|| session.run(&inputs).map(|outputs| outputs.len()))).expect_err("a panic")
}

#[test]
fn the_first_panic_of_a_run_goes_on() {
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = calls.clone();
    let panic = panic_of_two_kernels(move |_, _| std::panic::panic_any(seen.fetch_add(1, Ordering::SeqCst)));
    assert_eq!((calls.load(Ordering::SeqCst), panic.downcast_ref::<usize>()), (2, Some(&0)));
}

#[test]
fn a_run_within_an_executor_has_panics_of_its_own() {
    let inner = Mutex::new(compiled().session_on(2, |_, _| panic!("inner")).unwrap());
    let texts = Arc::new(Mutex::new(Vec::new()));
    let seen = texts.clone();
    let panic = panic_of_two_kernels(move |_, _| {
        seen.lock().unwrap().push(panic_of(&mut inner.lock().unwrap()));
        panic!("outer");
    });
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"outer"));
    assert_eq!(*texts.lock().unwrap(), ["inner", "inner"]);
}

#[test]
fn messages_name_the_file() {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let seen = messages.clone();
    let log = Box::new(move |_, message: &str| seen.lock().unwrap().push(message.to_owned()));
    let runtime = Runtime::with_options(RuntimeOptions { log: Some(log), ..Default::default() }).unwrap();
    let path = std::env::temp_dir().join(format!("tailor_rust_log_{}.tlr", std::process::id()));
    compiled_for(&runtime).save(&path).unwrap();
    Executable::load_with(&path, &LoadOptions { runtime: Some(&runtime), ..Default::default() }).unwrap();
    std::fs::remove_file(&path).unwrap();
    let messages = messages.lock().unwrap();
    assert!(messages[0].starts_with("graph \"run\": variant "), "{:?}", messages);
    assert!(messages[1].starts_with(&format!("{}: variant ", path.display())), "{:?}", messages);
}
