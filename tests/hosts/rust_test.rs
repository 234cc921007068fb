//! The Rust wrapper, on the artifact that c99_test saves (TAILOR_TEST_ARTIFACT).

use tailor::{DType, Error, ErrorCode, Executable, Tensor};

fn load() -> Executable {
    let path = std::env::var("TAILOR_TEST_ARTIFACT").expect("TAILOR_TEST_ARTIFACT names the artifact");
    Executable::load(path).expect("the artifact loads")
}

fn error_of<T>(result: tailor::Result<T>) -> Error {
    result.err().expect("an error")
}

#[test]
fn signature_is_readable() {
    let executable = load();
    let inputs = executable.inputs();
    assert_eq!(inputs.len(), 1);
    assert_eq!((inputs[0].name.as_str(), inputs[0].dtype), ("x", DType::F32));
    assert_eq!(inputs[0].dims, ["B", "4"]);
    let names: Vec<String> = executable.outputs().iter().map(|output| output.name.clone()).collect();
    assert_eq!(names, ["y", "total"]);
}

#[test]
fn runs_at_several_shapes() {
    let executable = load();
    let mut session = executable.session(2).unwrap();
    drop(executable); // the session keeps it alive
    for rows in [1usize, 3, 64] {
        let x: Vec<f32> = (0..rows * 4).map(|i| i as f32).collect();
        let outputs = session.run(&[Tensor::new(&x, &[rows as i64, 4])]).unwrap();
        assert_eq!(outputs.len(), 2);
        assert_eq!(outputs.shape(0).unwrap(), [rows as i64, 4]);
        let y: Vec<f32> = x.iter().enumerate().map(|(i, v)| v * (i % 4 + 1) as f32 + 0.5).collect();
        assert_eq!(outputs.get::<f32>(0).unwrap(), y);
        let total: Vec<f32> = y.chunks(4).map(|row| row.iter().sum()).collect();
        assert_eq!(outputs.get::<f32>(1).unwrap(), total);
        assert_eq!(error_of(outputs.get::<i32>(0)).code, ErrorCode::InvalidArgument);
        assert_eq!(error_of(outputs.get::<f32>(2)).code, ErrorCode::InvalidArgument);
    }
}

#[test]
fn errors_name_the_input() {
    let mut session = load().session(1).unwrap();
    let x = [0f64; 4];
    let wrong_type = error_of(session.run(&[Tensor::new(&x, &[1, 4])]));
    assert_eq!(wrong_type.code, ErrorCode::InvalidArgument);
    assert!(wrong_type.message.contains("\"x\""), "{}", wrong_type);
    let x = [0f32; 65 * 4];
    let out_of_range = error_of(session.run(&[Tensor::new(&x, &[65, 4])]));
    assert!(out_of_range.message.contains("B"), "{}", out_of_range);
    assert_eq!(error_of(session.run(&[])).code, ErrorCode::InvalidArgument);
}

#[test]
fn running_needs_no_compiler() {
    load().session(1).unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    assert!(maps.contains("/libtailor_runtime.so") && !maps.contains("/libtailor.so"));
}

#[test]
fn bytes_load_as_files_do() {
    let bytes = std::fs::read(std::env::var("TAILOR_TEST_ARTIFACT").unwrap()).unwrap();
    let executable = Executable::from_bytes(&bytes).unwrap();
    assert_eq!(executable.inputs(), load().inputs());
    assert_eq!(error_of(Executable::from_bytes(&bytes[..bytes.len() / 2])).code, ErrorCode::DataLoss);
}

#[test]
fn a_missing_file_is_not_found() {
    assert_eq!(error_of(Executable::load("/no/such/file.tlr")).code, ErrorCode::NotFound);
}

#[test]
fn saves_the_same_bytes() {
    let path = std::env::temp_dir().join(format!("tailor_rust_{}.tlr", std::process::id()));
    load().save(&path).unwrap();
    let saved = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(saved, std::fs::read(std::env::var("TAILOR_TEST_ARTIFACT").unwrap()).unwrap());
    assert_eq!(load().to_bytes().unwrap(), saved);
}

#[test]
fn a_tensor_of_too_many_dims_is_an_error_of_the_run() {
    let mut session = load().session(1).unwrap();
    let (mut x, ones) = ([0f32; 4], [1i64; 9]);
    for wrong in [Tensor::new(&[0f32; 4], &ones), Tensor::donated(&mut x, &ones)] {
        let error = error_of(session.run(&[wrong]));
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        assert_eq!(error.message, "input 0 \"x\": it has 9 dims, more than 8");
    }
    // SAFETY: the run refuses the tensor before anything is read.
    let wrong = unsafe { Tensor::on_device(std::ptr::null_mut::<f32>(), usize::MAX, &[1, 4]) };
    assert!(error_of(session.run(&[wrong])).message.contains(&usize::MAX.to_string()));
}

#[test]
fn an_output_that_is_not_there_is_an_error() {
    let mut session = load().session(1).unwrap();
    let x = [0f32; 4];
    let outputs = session.run(&[Tensor::new(&x, &[1, 4])]).unwrap();
    for error in [error_of(outputs.shape(2)), error_of(outputs.view(2)), error_of(outputs.get::<f32>(2))] {
        assert_eq!((error.code, error.message.as_str()), (ErrorCode::InvalidArgument, "there is no output 2"));
    }
}

#[test]
fn errors_print_the_name_of_their_code() {
    let error = error_of(Executable::load("/no/such/file.tlr"));
    assert_eq!(error.to_string(), format!("NOT_FOUND: {}", error.message));
    let mut error = Error::new(ErrorCode::InvalidArgument, "no");
    error.node = "y".into();
    assert_eq!(error.to_string(), "INVALID_ARGUMENT: no (node \"y\")");
    error.code = ErrorCode::from_raw(99);
    assert_eq!((error.code, error.to_string().as_str()), (ErrorCode::Other(99), "code 99: no (node \"y\")"));
    let _: &dyn std::error::Error = &error;
}
