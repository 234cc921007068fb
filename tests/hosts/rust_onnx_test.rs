//! ONNX models in Rust, on the models that onnx_models.py writes (TAILOR_TEST_MODELS).

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;

use tailor::graph::{Graph, Symbol};
use tailor::onnx::{self, Options};
use tailor::{ErrorCode, Executable, Tensor};

fn model(name: &str) -> PathBuf {
    let folder = std::env::var_os("TAILOR_TEST_MODELS").expect("TAILOR_TEST_MODELS names the models' folder");
    PathBuf::from(folder).join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(model(name)).unwrap()
}

fn error_of(result: onnx::Result<Graph>) -> onnx::Error {
    result.err().expect("an error")
}

/// Asserts what the executable of scale.onnx computes.
fn assert_scales(executable: &Executable) {
    let mut session = executable.session(1).unwrap();
    for rows in [1usize, 3] {
        let outputs = session.run(&[Tensor::new(&vec![2.0f32; rows * 4], &[rows as i64, 4])]).unwrap();
        assert_eq!(outputs.shape(0).unwrap(), [rows as i64, 4]);
        assert_eq!(outputs.get::<f32>(0).unwrap(), [2.0, 4.0, 6.0, 8.0].repeat(rows));
    }
}

#[test]
fn a_model_is_compiled_and_saved() {
    let executable = onnx::load(model("scale.onnx")).unwrap().compile().unwrap();
    assert_scales(&executable);
    assert_eq!(executable.inputs()[0].dims, ["batch", "4"]);
    let artifact = std::env::temp_dir().join(format!("rust_onnx_test_{}.tlr", std::process::id()));
    executable.save(&artifact).unwrap();
    assert_scales(&Executable::load(&artifact).unwrap());
    std::fs::remove_file(artifact).unwrap();
}

#[test]
fn a_model_may_be_in_memory() {
    struct Owner(Vec<u8>, Arc<AtomicUsize>);
    impl AsRef<[u8]> for Owner {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    impl Drop for Owner {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }

    let options = Options::default();
    assert_scales(&onnx::load_bytes(&bytes("scale.onnx"), &options).unwrap().compile().unwrap());
    let dropped = Arc::new(AtomicUsize::new(0));
    let graph = onnx::load_from(Owner(bytes("scale.onnx"), dropped.clone()), &options).unwrap();
    let executable = thread::spawn(move || graph.compile().unwrap()).join().unwrap();
    assert_scales(&executable);
    drop(executable);
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
    let failed = onnx::load_from(Owner(vec![8; 3], dropped.clone()), &options);
    assert_eq!(error_of(failed).error.code, ErrorCode::InvalidArgument);
    assert_eq!(dropped.load(Ordering::SeqCst), 2);
}

#[test]
fn options_describe_dims() {
    let options = Options {
        symbols: &[("batch", Symbol { min: 1, max: 64, multiple_of: 2, likely: &[8] })],
        dims: &[("x_dim1", "2*batch + 1".into())],
        fixed: &[("axes", Tensor::new(&[1i64], &[1]))],
        ..Default::default()
    };
    let graph = onnx::load_with(model("sum.onnx"), &options).unwrap();
    let text = graph.text().unwrap();
    assert!(text.contains("batch in [1, 64] multiple_of 2 likely [8]"), "{}", text);
    let executable = graph.compile().unwrap();
    let inputs = executable.inputs();
    assert_eq!(inputs.len(), 1, "axes is no input");
    assert_eq!(inputs[0].dims, ["batch", "2*batch + 1"]);
    let mut session = executable.session(1).unwrap();
    assert_eq!(session.run(&[Tensor::new(&[1.0f32; 10], &[2, 5])]).unwrap().get::<f32>(0).unwrap(), [5.0, 5.0]);

    let numbers = Options { dims: &[("batch", 3.into())], ..Default::default() };
    let graph = onnx::load_with(model("scale.onnx"), &numbers).unwrap();
    assert_eq!(graph.compile().unwrap().inputs()[0].dims, ["3", "4"]);
}

#[test]
fn errors_name_what_is_at_fault() {
    let error = error_of(onnx::load(model("wrong.onnx")));
    assert_eq!(error.error.code, ErrorCode::InvalidArgument);
    assert_eq!(error.error.node, "MatMul node \"product\"");
    assert!(error.needs_fixed.is_empty());
    let same: tailor::Error = error.clone().into();
    assert_eq!(same.to_string(), error.to_string());

    assert_eq!(error_of(onnx::load(model("none.onnx"))).error.code, ErrorCode::NotFound);
    let missing = onnx::load_bytes(&[], &Options::default());
    assert_eq!(error_of(missing).error.code, ErrorCode::InvalidArgument);
    let tensor = Tensor::new(&[1i64], &[1; 9]);
    let options = Options { fixed: &[("axes", tensor)], ..Default::default() };
    let error = error_of(onnx::load_with(model("sum.onnx"), &options));
    assert_eq!(error.error.message, "the fixed input \"axes\": it has 9 dims, more than 8");
    let options = Options { dims: &[("x_dim1", "2 *".into())], fixed: &[], ..Default::default() };
    let error = error_of(onnx::load_with(model("sum.onnx"), &options));
    assert!(error.to_string().contains("2 *"), "{}", error);
}

#[test]
fn inputs_that_compilation_has_to_know_are_listed() {
    let error = error_of(onnx::load(model("sum.onnx")));
    assert_eq!(error.error.code, ErrorCode::Unimplemented);
    assert!(error.error.node.starts_with("ReduceSum node"), "{}", error);
    assert_eq!(error.needs_fixed, ["axes"]);
}
