// E0505
use tailor::{graph::Graph, DType, Result};

pub fn value() -> Result<()> {
    let graph = Graph::new("g")?;
    let x = graph.scalar(DType::F32, 1.0)?;
    #[cfg(not(good))]
    drop(graph);
    (x + 1.0)?;
    Ok(())
}
