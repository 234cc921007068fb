//! A custom operator: a function of this program between compiled kernels, with a result whose size it counts. Compiled once,
//! run at two shapes.

use tailor::graph::{CompileOptions, CustomOptions, CustomResult, Graph};
use tailor::{dims, CustomCall, DType, Device, Result, Runtime, Tensor};

/// (y f32[N], at i64[..N]) of x f32[N]: x clamped to [-limit, limit], and the indices of the elements that this changed.
fn clamp(call: &CustomCall<'_>) -> Result<()> {
    let limit: f32 = call.attributes().parse().map_err(|_| format!("limit {:?}", call.attributes()))?;
    let x = call.operand::<f32>(0)?;
    let y = call.result::<f32>(0)?;
    let at = call.result::<i64>(1)?; // as long as x, the bound
    let mut changed = 0;
    for (i, &given) in x.iter().enumerate() {
        y[i] = given.clamp(-limit, limit);
        if y[i] != given {
            at[changed] = i as i64;
            changed += 1;
        }
    }
    call.result::<i64>(2)?[0] = changed as i64; // the count of `at`
    Ok(())
}

fn main() -> Result<()> {
    let graph = Graph::new("clamped")?;
    let n = graph.symbol("N")?;
    let x = graph.input("x", DType::F32, &dims![n])?;
    let shape = dims![n];
    let results = [
        CustomResult { dtype: DType::F32, dims: &shape, counted_dim: None },
        CustomResult { dtype: DType::I64, dims: &shape, counted_dim: Some(0) },
    ];
    let options = CustomOptions { attributes: "1.5", ..Default::default() };
    let clamped = graph.custom("clamp", &[(x * 0.5)?], &results, options)?;
    graph.output("y", (clamped[0] * 10.0)?)?;
    graph.output("at", clamped[1])?;

    let runtime = Runtime::new()?;
    runtime.register("clamp", Device::Cpu, clamp)?;
    let executable = graph.compile_with(CompileOptions { runtime: Some(&runtime), ..Default::default() })?;
    let mut session = executable.session(1)?;
    for x in [&[1.0f32, 4.0, -2.0, -6.0, 3.0][..], &[2.0, 8.0]] {
        let outputs = session.run(&[Tensor::new(x, &[x.len() as i64])])?;
        println!("{:?}, clamped at {:?}", outputs.get::<f32>(0)?, outputs.get::<i64>(1)?);
    }
    Ok(())
}
