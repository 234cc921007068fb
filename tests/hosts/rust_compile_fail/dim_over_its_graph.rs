// E0515
use tailor::{graph::{Dim, Graph}, Result};

pub fn dim<'g>(outer: &'g Graph) -> Result<Dim<'g>> {
    let graph = Graph::new("g")?;
    let _ = (outer, &graph);
    #[cfg(good)]
    return outer.symbol("n");
    #[cfg(not(good))]
    return graph.symbol("n");
}
