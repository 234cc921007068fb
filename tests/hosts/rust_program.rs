//! The program that tests of runs share.

use tailor::graph::{CompileOptions, Graph};
use tailor::{dims, DType, Error, Executable, Runtime};

pub fn error_of<T>(result: tailor::Result<T>) -> Error {
    result.err().expect("an error")
}

/// y f32[B, 4] = 2 x + 1 and total f32[B], its sums, of x f32[B, 4].
pub fn graph() -> Graph {
    let graph = Graph::new("run").unwrap();
    let batch = graph.symbol("B").unwrap();
    let x = graph.input("x", DType::F32, &dims![batch, 4]).unwrap();
    let y = ((x * 2.0).unwrap() + 1.0).unwrap();
    graph.output("y", y).unwrap();
    graph.output("total", y.reduce_sum(&[1]).unwrap()).unwrap();
    graph
}

pub fn compiled_for(runtime: &Runtime) -> Executable {
    let options = CompileOptions { targets: &["host"], runtime: Some(runtime), ..Default::default() };
    graph().compile_with(options).unwrap()
}

pub fn compiled() -> Executable {
    compiled_for(&Runtime::new().unwrap())
}

pub fn example(rows: usize) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
    let x: Vec<f32> = (0..rows * 4).map(|i| i as f32).collect();
    let y: Vec<f32> = x.iter().map(|v| 2.0 * v + 1.0).collect();
    let total = y.chunks(4).map(|row| row.iter().sum()).collect();
    (x, y, total)
}
