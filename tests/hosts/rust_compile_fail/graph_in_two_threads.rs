// E0277
use tailor::{graph::Graph, Result};

pub fn symbols(graph: &mut Graph) -> Result<()> {
    let add = |graph: &Graph| graph.symbol("n").map(|_| ());
    #[cfg(good)]
    return std::thread::scope(|scope| scope.spawn(move || add(graph)).join().unwrap());
    #[cfg(not(good))]
    return {
        let graph = &*graph;
        std::thread::scope(|scope| scope.spawn(move || add(graph)).join().unwrap())
    };
}
