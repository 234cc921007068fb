//! The Rust wrapper on a GPU, which the driver of the tests plays (TAILOR_CUDA_DRIVER).

use std::ffi::{c_void, CString};
use std::os::raw::{c_char, c_int};

use tailor::graph::{CompileOptions, CustomOptions, CustomResult, Graph};
use tailor::{dims, DType, Device, Error, ErrorCode, Executable, LoadOptions, Runtime, SessionOptions, Tensor};

const GPU: Device = Device::Cuda(0);

fn error_of<T>(result: tailor::Result<T>) -> Error {
    result.err().expect("an error")
}

fn scaled() -> Graph {
    let graph = Graph::new("scaled").unwrap();
    let batch = graph.symbol("B").unwrap();
    let x = graph.input("x", DType::F32, &dims![batch, 4]).unwrap();
    graph.output("y", (x * 2.0).unwrap()).unwrap();
    graph
}

fn options() -> CompileOptions<'static> {
    CompileOptions { targets: &["simt", "host"], ..Default::default() }
}

fn on_gpu() -> Executable {
    scaled().compile_with(CompileOptions { device: GPU, ..options() }).unwrap()
}

fn example(rows: usize) -> (Vec<f32>, Vec<f32>) {
    let x: Vec<f32> = (0..rows * 4).map(|i| i as f32).collect();
    let y = x.iter().map(|v| v * 2.0).collect();
    (x, y)
}

#[test]
fn one_artifact_runs_on_both() {
    let bytes = scaled().compile_artifact(options()).unwrap();
    let path = std::env::temp_dir().join(format!("tailor_rust_device_{}.tlr", std::process::id()));
    std::fs::write(&path, &bytes).unwrap();
    let executables = [
        Executable::from_bytes(&bytes).unwrap(),
        Executable::from_bytes_with(&bytes, &LoadOptions { device: GPU, ..Default::default() }).unwrap(),
        Executable::load_with(&path, &LoadOptions { device: GPU, ..Default::default() }).unwrap(),
        on_gpu(),
    ];
    std::fs::remove_file(&path).unwrap();
    for (i, executable) in executables.iter().enumerate() {
        let mut session = executable.session(1).unwrap();
        assert_eq!(session.stream().is_null(), i == 0);
        for rows in [3, 0, 40] {
            let (x, y) = example(rows);
            let outputs = session.run(&[Tensor::new(&x, &[rows as i64, 4])]).unwrap();
            assert_eq!(outputs.get::<f32>(0).unwrap(), y);
            assert!(outputs[0].device_address().is_none());
        }
    }
}

#[test]
fn products_in_f32_may_be_tf32() {
    for (allow_tf32, factor) in [(false, 2049.0 / 2048.0), (true, 1025.0 / 1024.0)] {
        let graph = Graph::new("product").unwrap();
        let rows = graph.symbol("M").unwrap();
        let x = graph.input("x", DType::F32, &dims![rows, 32]).unwrap();
        let w = graph.input("w", DType::F32, &dims![32, 16]).unwrap();
        graph.output("y", x.dot(w).unwrap()).unwrap();
        let executable = graph.compile_with(CompileOptions { device: GPU, allow_tf32, ..options() }).unwrap();
        let mut session = executable.session(1).unwrap();
        let (x, w) = (vec![2049.0f32 / 2048.0; 20 * 32], vec![1.0f32; 32 * 16]);
        let outputs = session.run(&[Tensor::new(&x, &[20, 32]), Tensor::new(&w, &[32, 16])]).unwrap();
        assert_eq!(outputs.get::<f32>(0).unwrap(), vec![32.0 * factor; 20 * 16]);
    }
}

#[test]
fn a_device_that_is_not_there_is_an_error() {
    let missing = CompileOptions { device: Device::Cuda(7), ..options() };
    let error = error_of(scaled().compile_with(missing));
    assert_eq!(error.code, ErrorCode::FailedPrecondition);
    assert!(error.message.contains("CUDA device 7 was asked for"), "{}", error);
    let options = SessionOptions { cuda_graph: true, ..Default::default() };
    let on_cpu = scaled().compile_with(self::options()).unwrap();
    assert_eq!(error_of(on_cpu.session_with(options)).code, ErrorCode::InvalidArgument);
}

#[test]
fn runs_may_be_graphs() {
    let mut session = on_gpu().session_with(SessionOptions { cuda_graph: true, ..Default::default() }).unwrap();
    for rows in [3, 40, 7] {
        let (x, y) = example(rows);
        assert_eq!(session.run(&[Tensor::new(&x, &[rows as i64, 4])]).unwrap().get::<f32>(0).unwrap(), y);
    }
}

#[test]
fn asynchronous_runs_are_waited_for() {
    let mut session = on_gpu().session_with(SessionOptions { asynchronous: true, ..Default::default() }).unwrap();
    let (x, y) = example(5);
    let inputs = [Tensor::new(&x, &[5, 4])];
    // SAFETY, here and below: no run is forgotten.
    let mut running = unsafe { session.start(&inputs) }.unwrap();
    assert!(!running.poll().unwrap());
    assert_eq!(running.wait().unwrap().get::<f32>(0).unwrap(), y);
    drop(unsafe { session.start(&inputs) }.unwrap());
    let (outputs, done) = session.run_while(&inputs, |run| run.poll().unwrap()).unwrap();
    assert_eq!((outputs.get::<f32>(0).unwrap(), done), (&y[..], false));
    assert_eq!(session.run(&inputs).unwrap().get::<f32>(0).unwrap(), y);
}

#[test]
fn tensors_stay_on_the_device() {
    let options = SessionOptions { device_outputs: true, ..Default::default() };
    let executable = on_gpu();
    let (mut first, mut second) = (executable.session_with(options).unwrap(), executable.session(1).unwrap());
    let (x, _) = example(5);
    let outputs = first.run(&[Tensor::new(&x, &[5, 4])]).unwrap();
    let error = error_of(outputs.get::<f32>(0));
    assert_eq!(error.message, "output 0 is in the device's memory: see device_address");
    let address = outputs[0].device_address().unwrap() as *mut f32;
    // SAFETY: the outputs of the first session live while the second runs.
    let there = unsafe { Tensor::on_device(address, 20, &[5, 4]) };
    let twice: Vec<f32> = x.iter().map(|v| v * 4.0).collect();
    assert_eq!(second.run(&[there]).unwrap().get::<f32>(0).unwrap(), twice);
    drop(outputs);
}

#[test]
fn the_stream_may_be_the_hosts() {
    let executable = on_gpu();
    let owner = executable.session(1).unwrap();
    // SAFETY: the session whose stream it is outlives the other.
    let stream = unsafe { tailor::Stream::from_raw(owner.stream()) };
    let mut session = executable.session_with(SessionOptions { stream: Some(stream), ..Default::default() }).unwrap();
    assert_eq!(session.stream(), owner.stream());
    let (x, y) = example(2);
    assert_eq!(session.run(&[Tensor::new(&x, &[2, 4])]).unwrap().get::<f32>(0).unwrap(), y);
}

type CopyOnDevice = unsafe extern "C" fn(*mut c_void, *const c_void, usize, *mut c_void) -> c_int;

extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// cuMemcpyDtoDAsync of the driver.
fn copy_on_device() -> CopyOnDevice {
    let driver = CString::new(std::env::var("TAILOR_CUDA_DRIVER").expect("the driver of the tests")).unwrap();
    // SAFETY: the function has this type in every driver.
    unsafe {
        let found = dlsym(dlopen(driver.as_ptr(), 2), "cuMemcpyDtoDAsync_v2\0".as_ptr() as *const c_char);
        assert!(!found.is_null());
        std::mem::transmute::<*mut c_void, CopyOnDevice>(found)
    }
}

#[test]
fn custom_operators_get_addresses_and_the_stream() {
    let graph = Graph::new("custom").unwrap();
    let n = graph.symbol("N").unwrap();
    let x = graph.input("x", DType::F32, &dims![n]).unwrap();
    let result = CustomResult { dtype: DType::F32, dims: &dims![n], counted_dim: None };
    let y = graph.custom("copy", &[(x * 3.0).unwrap()], &[result], CustomOptions::default()).unwrap()[0];
    graph.output("y", (y + 1.0).unwrap()).unwrap();
    let (runtime, copy) = (Runtime::new().unwrap(), copy_on_device());
    let size = |call: &tailor::CustomCall<'_>| Ok(4 * call.operand_dims(0)?[0] as usize);
    let function = move |call: &tailor::CustomCall<'_>| {
        let there = |what: &str| format!("{} is in the device's memory: see its address", what);
        assert_eq!(error_of(call.operand::<f32>(0)).message, there("operand 0"));
        assert_eq!(error_of(call.result::<f32>(0)).message, there("result 0"));
        assert_eq!(error_of(call.workspace()).message, there("the workspace"));
        let (workspace, stream) = (call.workspace_address(), call.stream());
        let bytes = 4 * call.operand_dims(0)?[0] as usize;
        // SAFETY: all three have so many bytes.
        unsafe {
            assert_eq!(copy(workspace, call.operand_address(0)?, bytes, stream), 0);
            assert_eq!(copy(call.result_address(0)?, workspace, bytes, stream), 0);
        }
        Ok(())
    };
    runtime.register_with_workspace("copy", GPU, size, function).unwrap();
    let targets = &["simt", "host"];
    let options = CompileOptions { targets, device: GPU, runtime: Some(&runtime), ..Default::default() };
    let mut session = graph.compile_with(options).unwrap().session(1).unwrap();
    for size in [1, 40] {
        let x: Vec<f32> = (0..size).map(|i| i as f32).collect();
        let y: Vec<f32> = x.iter().map(|v| 3.0 * v + 1.0).collect();
        assert_eq!(session.run(&[Tensor::new(&x, &[size])]).unwrap().get::<f32>(0).unwrap(), y);
    }
}
