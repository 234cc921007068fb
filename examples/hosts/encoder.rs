//! Runs a sentence encoder: encoder ARTIFACT INPUTS OUTPUTS. INPUTS has i64 numbers: B, S, ids[B, S], mask[B, S] of one
//! batch after the other. Prints the milliseconds until the artifact is loaded and until the first result.

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::time::{Duration, Instant};

use tailor::{Executable, Tensor};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().collect();
    let (artifact, inputs, outputs) = match &arguments[..] {
        [_, artifact, inputs, outputs] => (artifact, inputs, outputs),
        _ => return Err("usage: encoder ARTIFACT INPUTS OUTPUTS".into()),
    };
    let bytes = fs::read(inputs)?;
    let numbers: Vec<i64> = bytes.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap())).collect();
    let mut file = BufWriter::new(File::create(outputs)?);

    let begin = Instant::now();
    let executable = Executable::load(artifact)?;
    let mut session = executable.session(1)?;
    let loaded = begin.elapsed();
    let mut first = None;
    let mut batches = &numbers[..];
    while let [rows, columns, rest @ ..] = batches {
        let (shape, count) = ([*rows, *columns], (rows * columns) as usize);
        let (ids, rest) = rest.split_at(count);
        let (mask, rest) = rest.split_at(count);
        let results = session.run(&[Tensor::new(ids, &shape), Tensor::new(mask, &shape)])?;
        first.get_or_insert_with(|| begin.elapsed());
        for x in results.named("embedding")?.as_slice::<f32>()? {
            file.write_all(&x.to_le_bytes())?;
        }
        batches = rest;
    }
    file.flush()?;
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    println!("{:.2} {:.2}", milliseconds(loaded), milliseconds(first.unwrap_or_default()));
    Ok(())
}
