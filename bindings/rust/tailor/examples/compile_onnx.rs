//! Compiles the ONNX model `model.onnx` of the working folder, or the first argument, runs it on f32 ones of dims [2, 4], and
//! saves it as `model.tlr`, or the second argument.

use std::env;

use tailor::{onnx, Result, Tensor};

fn main() -> Result<()> {
    let mut arguments = env::args().skip(1);
    let model = arguments.next().unwrap_or_else(|| "model.onnx".into());
    let artifact = arguments.next().unwrap_or_else(|| "model.tlr".into());

    let graph = onnx::load(model)?;
    let executable = graph.compile()?; // once, for all shapes
    let mut session = executable.session(1)?;
    let outputs = session.run(&[Tensor::new(&[1.0f32; 8], &[2, 4])])?;
    executable.save(artifact)?;
    println!("{:?} {:?}", outputs.shape(0)?, outputs.get::<f32>(0)?);
    Ok(())
}
