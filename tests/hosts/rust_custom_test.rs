//! Custom operators in Rust.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use tailor::graph::{CompileOptions, CustomOptions, CustomResult, Graph, Value};
use tailor::{dims, CustomCall, DType, Device, Error, ErrorCode, Executable, LoadOptions, Result, Runtime, Session};
use tailor::Tensor;

const CPU: Device = Device::Cpu;

fn error_of<T>(result: Result<T>) -> Error {
    result.err().expect("an error")
}

/// y f32[N] = op(x f32[N]), with a kernel before and after it that change nothing.
fn graph_of(name: &str, attributes: &str) -> Graph {
    let graph = Graph::new("custom").unwrap();
    let n = graph.symbol("N").unwrap();
    let x = graph.input("x", DType::F32, &dims![n]).unwrap();
    let result = CustomResult { dtype: DType::F32, dims: &dims![n], counted_dim: None };
    let options = CustomOptions { attributes, ..Default::default() };
    let y = graph.custom(name, &[(-x).unwrap()], &[result], options).unwrap()[0].named("node y").unwrap();
    graph.output("y", (-y).unwrap()).unwrap();
    graph
}

fn compiled(graph: &Graph, runtime: &Runtime) -> Result<Executable> {
    graph.compile_with(CompileOptions { targets: &["host"], runtime: Some(runtime), ..Default::default() })
}

/// A session of graph_of whose operator has this function.
fn session_of<F>(function: F) -> Session
where
    F: Fn(&CustomCall<'_>) -> Result<()> + Send + Sync + 'static,
{
    let runtime = Runtime::new().unwrap();
    runtime.register("op", CPU, function).unwrap();
    compiled(&graph_of("op", "3"), &runtime).unwrap().session(1).unwrap()
}

fn run_of(session: &mut Session, x: &[f32]) -> Result<Vec<f32>> {
    Ok(session.run(&[Tensor::new(x, &[x.len() as i64])])?.get::<f32>(0)?.to_vec())
}

fn message_of<F>(function: F) -> String
where
    F: Fn(&CustomCall<'_>) -> Result<()> + Send + Sync + 'static,
{
    error_of(run_of(&mut session_of(function), &[1.0, 2.0])).message
}

fn scale(call: &CustomCall<'_>) -> Result<()> {
    let factor: f32 = call.attributes().parse().map_err(|_| "the factor is no number")?;
    for (y, x) in call.result::<f32>(0)?.iter_mut().zip(call.operand::<f32>(0)?) {
        *y = factor * x;
    }
    Ok(())
}

#[test]
fn runs_between_kernels_at_every_shape() {
    let mut session = session_of(scale);
    for size in [1, 7, 0, 64] {
        let x: Vec<f32> = (0..size).map(|i| i as f32).collect();
        assert_eq!(run_of(&mut session, &x).unwrap(), x.iter().map(|x| 3.0 * x).collect::<Vec<_>>());
    }
}

#[test]
fn the_call_says_what_it_is_of() {
    let mut session = session_of(|call| {
        assert_eq!((call.name(), call.node(), call.attributes()), ("op", "node y", "3"));
        assert_eq!((call.operand_count(), call.result_count()), (1, 1));
        assert_eq!((call.operand_dims(0)?, call.result_dims(0)?), (&[2][..], &[2][..]));
        assert_eq!((call.operand_dtype(0)?, call.result_dtype(0)?), (DType::F32, DType::F32));
        assert!(call.stream().is_null() && call.workspace()?.is_empty());
        assert_eq!(call.operand_address(0)?, call.operand::<f32>(0)?.as_ptr() as *const _);
        assert_eq!(call.result_address(0)?, call.result::<f32>(0)?.as_mut_ptr() as *mut _);
        Ok(())
    });
    run_of(&mut session, &[1.0, 2.0]).unwrap();
}

/// (the positive elements of x f32[N], the sum of all f32[], their squares f32[..N])
fn positive<'g>(graph: &'g Graph) -> Vec<Value<'g>> {
    let n = graph.symbol("N").unwrap();
    let x = graph.input("x", DType::F32, &dims![n]).unwrap();
    let counted = CustomResult { dtype: DType::F32, dims: &dims![n], counted_dim: Some(0) };
    let sum = CustomResult { dtype: DType::F32, dims: &[], counted_dim: None };
    graph.custom("positive", &[x], &[counted, sum, counted], CustomOptions::default()).unwrap()
}

#[test]
fn counts_say_how_much_of_a_result_there_is() {
    let graph = Graph::new("counted").unwrap();
    let results = positive(&graph);
    assert_ne!(results[0].shape().unwrap()[0].text().unwrap(), "N");
    for (i, &result) in results.iter().enumerate() {
        graph.output(&i.to_string(), (result + 1.0).unwrap()).unwrap();
    }
    let runtime = Runtime::new().unwrap();
    let register = runtime.register("positive", CPU, |call| {
        assert_eq!((call.result_count(), call.result_dtype(3)?, call.result_dims(4)?), (5, DType::I64, &[][..]));
        let (kept, squares) = (call.result::<f32>(0)?, call.result::<f32>(2)?);
        let mut count = 0;
        for &x in call.operand::<f32>(0)?.iter().filter(|&&x| x > 0.0) {
            kept[count] = x;
            squares[count] = x * x;
            count += 1;
        }
        call.result::<f32>(1)?[0] = call.operand::<f32>(0)?.iter().sum();
        call.result::<i64>(3)?[0] = count as i64;
        call.result::<i64>(4)?[0] = if count == 3 { 4 } else { count as i64 };
        Ok(())
    });
    register.unwrap();
    let mut session = compiled(&graph, &runtime).unwrap().session(1).unwrap();
    for (x, kept, sum, squares) in [
        (vec![1.0f32, -2.0, 4.0, 0.0], vec![2.0f32, 5.0], 4.0, vec![2.0f32, 17.0]),
        (vec![-1.0], vec![], 0.0, vec![]),
    ] {
        let outputs = session.run(&[Tensor::new(&x, &[x.len() as i64])]).unwrap();
        assert_eq!(outputs.shape(0).unwrap(), [kept.len() as i64]);
        assert_eq!(outputs.get::<f32>(0).unwrap(), kept);
        assert_eq!(outputs.get::<f32>(1).unwrap(), [sum]);
        assert_eq!(outputs.get::<f32>(2).unwrap(), squares);
    }
    let error = error_of(run_of(&mut session, &[1.0, 2.0, 3.0])); // it counts 4 of 3
    assert_eq!(error.code, ErrorCode::InvalidArgument);
    assert!(error.message.contains('4') && error.message.contains('3'), "{}", error);
}

#[test]
fn a_failure_has_its_code_message_and_node() {
    let full = |_: &CustomCall<'_>| {
        Err(Error::new(ErrorCode::ResourceExhausted, "the table is full"))
    };
    let error = error_of(run_of(&mut session_of(full), &[1.0]));
    assert_eq!((error.code, error.node.as_str()), (ErrorCode::ResourceExhausted, "node y"));
    assert_eq!(error.message, "custom operator \"op\" failed: the table is full");
    for code in [0, -3, 99] {
        let unknown = move |_: &CustomCall<'_>| Err(Error::new(ErrorCode::from_raw(code), "no"));
        assert_eq!(error_of(run_of(&mut session_of(unknown), &[1.0])).code, ErrorCode::Internal);
    }
    let mut calls = session_of(|call| if call.operand::<f32>(0)?[0] < 0.0 { Err("wrong".into()) } else { scale(call) });
    assert_eq!(error_of(run_of(&mut calls, &[1.0])).code, ErrorCode::Internal);
    assert_eq!(run_of(&mut calls, &[-1.0]).unwrap(), [-3.0]);
}

#[test]
fn panics_are_failures() {
    let expected = "custom operator \"op\" failed: it panicked: ";
    assert_eq!(message_of(|_| panic!("no rows")), format!("{}no rows", expected));
    let index = message_of(|call| call.result::<f32>(0).map(|y| y[call.operand_count() + 1] = 1.0));
    assert_eq!(index, format!("{}index out of bounds: the len is 2 but the index is 2", expected));
    assert_eq!(message_of(|_| std::panic::panic_any(7)), format!("{}a value that is no text", expected));
}

#[test]
fn a_long_message_is_cut_between_characters() {
    for start in ["", "x"] {
        let message = message_of(move |_| Err(format!("{}{}", start, "é".repeat(600)).into()));
        assert!(message.ends_with('é') && message.len() > 500, "{}", message);
    }
    assert!(message_of(|_| Err("a\0b".into())).ends_with("a\u{fffd}b"));
}

#[test]
fn wrong_arguments_are_failures() {
    let failed = |words: &str| format!("custom operator \"op\" failed: {}", words);
    let ask = |ask: fn(&CustomCall<'_>) -> Result<()>| message_of(ask);
    assert_eq!(ask(|call| call.operand::<f64>(0).map(drop)), failed("operand 0 is f32, not f64"));
    assert_eq!(ask(|call| call.result::<i64>(0).map(drop)), failed("result 0 is f32, not i64"));
    assert_eq!(ask(|call| call.operand::<f32>(1).map(drop)), failed("there is no operand 1, only 1"));
    assert_eq!(ask(|call| call.result_dims(9).map(drop)), failed("there is no result 9, only 1"));
    let twice = ask(|call| call.result::<f32>(0).and(call.result::<f32>(0)).map(drop));
    assert_eq!(twice, failed("result 0 was taken already in this call"));
    let twice = ask(|call| call.workspace().and(call.workspace()).map(drop));
    assert_eq!(twice, failed("the workspace was taken already in this call"));
}

#[test]
fn a_workspace_has_the_size_that_the_dims_give() {
    let runtime = Runtime::new().unwrap();
    let size = |call: &CustomCall<'_>| Ok(4 * call.operand_dims(0)?[0] as usize);
    let reversed = |call: &CustomCall<'_>| {
        let (x, y, bytes) = (call.operand::<f32>(0)?, call.result::<f32>(0)?, call.workspace()?);
        assert_eq!((bytes.len(), bytes.as_ptr() as usize % 64), ((4 * x.len() + 63) / 64 * 64, 0));
        assert_eq!((call.workspace_bytes(), call.workspace_address()), (bytes.len(), bytes.as_mut_ptr() as *mut _));
        for (bytes, x) in bytes.chunks_exact_mut(4).zip(x.iter().rev()) {
            bytes.copy_from_slice(&x.to_ne_bytes());
        }
        for (y, bytes) in y.iter_mut().zip(bytes.chunks_exact(4)) {
            *y = f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        Ok(())
    };
    runtime.register_with_workspace("op", CPU, size, reversed).unwrap();
    let mut session = compiled(&graph_of("op", ""), &runtime).unwrap().session(1).unwrap();
    for size in [5, 100] {
        let x: Vec<f32> = (0..size).map(|i| i as f32).collect();
        assert_eq!(run_of(&mut session, &x).unwrap(), x.into_iter().rev().collect::<Vec<_>>());
    }
    for (size, words) in [
        ((|_| Err("odd rows".into())) as fn(&CustomCall<'_>) -> Result<usize>, "failed: odd rows"),
        (|_| panic!("no size"), "failed: it panicked: no size"),
        (|_| Ok(usize::MAX), "asks for a workspace of 18446744073709551615 bytes"),
        (|call| Ok(call.operand::<f32>(0)?.len()), "operand 0 has no data while the workspace is sized"),
        (|call| Ok(call.result_address(0)? as usize), "result 0 has no data while the workspace is sized"),
        (|call| Ok(call.workspace()?.len()), "the workspace has no data while the workspace is sized"),
    ] {
        let runtime = Runtime::new().unwrap();
        runtime.register_with_workspace("op", CPU, size, scale).unwrap();
        let mut session = compiled(&graph_of("op", "1"), &runtime).unwrap().session(1).unwrap();
        let error = error_of(run_of(&mut session, &[1.0]));
        assert!(error.message.contains(words), "{}", error);
    }
}

#[test]
fn the_function_is_dropped_after_the_last_executable() {
    let held = Arc::new(());
    let runtime = Runtime::new().unwrap();
    let register = |name: &str| {
        let held = held.clone();
        runtime.register(name, CPU, move |call| {
            assert!(Arc::strong_count(&held) > 1);
            scale(call)
        })
    };
    register("op").unwrap();
    assert_eq!(Arc::strong_count(&held), 2);
    for (name, words) in [("op", "\"op\" is registered already"), ("", "empty"), ("tailor.x", "tailor. are taken")] {
        let error = error_of(register(name));
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        assert!(error.message.contains(words), "{}", error);
        assert_eq!(Arc::strong_count(&held), 2);
    }
    let mut session = compiled(&graph_of("op", "2"), &runtime).unwrap().session(1).unwrap();
    drop(runtime);
    assert_eq!(run_of(&mut session, &[4.0]).unwrap(), [8.0]);
    assert_eq!(Arc::strong_count(&held), 2);
    drop(session);
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn sixteen_threads_call_it_at_once() {
    const THREADS: usize = 16;
    let runtime = Runtime::new().unwrap();
    let (met, calls) = (Barrier::new(THREADS), Arc::new(AtomicUsize::new(0)));
    let count = calls.clone();
    let meet = move |call: &CustomCall<'_>| {
        met.wait(); // until all are in progress
        count.fetch_add(1, Ordering::Relaxed);
        scale(call)
    };
    runtime.register("op", CPU, meet).unwrap();
    let executable = compiled(&graph_of("op", "2"), &runtime).unwrap();
    std::thread::scope(|scope| {
        for i in 0..THREADS {
            let executable = &executable;
            scope.spawn(move || {
                let mut session = executable.session(1).unwrap();
                for size in [1, 3, i] {
                    let x = vec![i as f32; size];
                    assert_eq!(run_of(&mut session, &x).unwrap(), vec![2.0 * i as f32; size]);
                }
            });
        }
    });
    assert_eq!(calls.load(Ordering::Relaxed), 3 * THREADS);
}

#[test]
fn a_function_may_run_another_session() {
    let inner = Mutex::new(session_of(scale));
    let mut session = session_of(move |call| {
        let y = run_of(&mut inner.lock().unwrap(), call.operand::<f32>(0)?)?;
        call.result::<f32>(0)?.copy_from_slice(&y);
        Ok(())
    });
    assert_eq!(run_of(&mut session, &[1.0, 2.0]).unwrap(), [3.0, 6.0]);
}

#[test]
fn artifacts_name_what_they_need() {
    let bytes = graph_of("op", "5").compile_artifact(CompileOptions::default()).unwrap();
    let error = error_of(Executable::from_bytes(&bytes));
    assert_eq!(error.code, ErrorCode::FailedPrecondition);
    assert!(error.message.contains("not registered for the CPU: \"op\""), "{}", error);
    let runtime = Runtime::new().unwrap();
    runtime.register("op", Device::Cuda(0), scale).unwrap(); // another device's
    let options = LoadOptions { runtime: Some(&runtime), ..Default::default() };
    assert_eq!(error_of(Executable::from_bytes_with(&bytes, &options)).code, ErrorCode::FailedPrecondition);
    runtime.register("op", CPU, scale).unwrap();
    let path = std::env::temp_dir().join(format!("tailor_rust_custom_{}.tlr", std::process::id()));
    std::fs::write(&path, &bytes).unwrap();
    for executable in [Executable::from_bytes_with(&bytes, &options), Executable::load_with(&path, &options)] {
        assert_eq!(run_of(&mut executable.unwrap().session(1).unwrap(), &[2.0]).unwrap(), [10.0]);
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn impure_calls_are_neither_merged_nor_dropped() {
    for (impure, expected) in [(false, 1), (true, 3)] {
        let graph = Graph::new("calls").unwrap();
        let x = graph.input("x", DType::F32, &dims![2]).unwrap();
        let result = CustomResult { dtype: DType::F32, dims: &dims![2], counted_dim: None };
        let call = |x| graph.custom("op", &[x], &[result], CustomOptions { attributes: "2", impure }).unwrap()[0];
        let _unused = call((x + 1.0).unwrap());
        graph.output("y", (call(x) + call(x)).unwrap()).unwrap();
        let (runtime, calls) = (Runtime::new().unwrap(), Arc::new(AtomicUsize::new(0)));
        let count = calls.clone();
        let function = move |call: &CustomCall<'_>| {
            count.fetch_add(1, Ordering::Relaxed);
            scale(call)
        };
        runtime.register("op", CPU, function).unwrap();
        let mut session = compiled(&graph, &runtime).unwrap().session(1).unwrap();
        assert_eq!(run_of(&mut session, &[1.0, 2.0]).unwrap(), [4.0, 8.0]);
        assert_eq!(calls.load(Ordering::Relaxed), expected);
    }
}

#[test]
fn nodes_are_checked() {
    let graph = Graph::new("checked").unwrap();
    let x = graph.input("x", DType::F32, &dims![graph.symbol("N").unwrap()]).unwrap();
    let add = |name: &str, results: &[CustomResult<'_>]| {
        let error = error_of(graph.custom(name, &[x], results, CustomOptions::default()));
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        error.message
    };
    let result = CustomResult { dtype: DType::F32, dims: &dims![2], counted_dim: None };
    assert!(add("", &[result]).contains("name is empty"));
    assert!(add("op", &[]).contains("has no result"));
    assert!(add("op", &[CustomResult { dtype: DType(77), ..result }]).contains("results[0].dtype is 77"));
    for counted_dim in [Some(1), Some(usize::MAX)] {
        assert!(add("op", &[CustomResult { counted_dim, ..result }]).contains("but its rank is 1"));
    }
    let other = Graph::new("other").unwrap();
    let foreign = other.input("x", DType::F32, &dims![1]).unwrap();
    assert!(error_of(graph.custom("op", &[foreign], &[result], CustomOptions::default())).message.contains("operands[0]"));
}

#[test]
fn a_seed_numbers_the_runs_from_0() {
    let graph = Graph::new("state").unwrap();
    let result = CustomResult { dtype: DType::U64, dims: &dims![2], counted_dim: None };
    let state = graph.custom("tailor.run_state", &[], &[result], CustomOptions::default()).unwrap();
    graph.output("state", state[0]).unwrap();
    let mut session = graph.compile().unwrap().session(1).unwrap();
    let mut state = |seed: Option<u64>| {
        seed.map(|seed| session.set_seed(seed).unwrap());
        session.run(&[]).unwrap().get::<u64>(0).unwrap().to_vec()
    };
    let drawn = state(None)[0];
    assert_eq!(state(None), [drawn, 1]);
    for _ in 0..2 {
        assert_eq!(state(Some(u64::MAX)), [u64::MAX, 0]);
        assert_eq!(state(None), [u64::MAX, 1]);
    }
}
