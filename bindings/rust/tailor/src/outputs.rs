//! The outputs of runs, in the memory of sessions.

use std::ops::Index;
use std::slice;

use crate::{invalid, DType, Element, Executable, Result, TensorView};

/// The outputs of one run: `outputs[0]`, or [`get`](Outputs::get) for the elements.
#[derive(Clone, Debug)]
pub struct Outputs<'a> {
    pub(crate) views: Vec<TensorView<'a>>,
    pub(crate) executable: &'a Executable,
}

impl<'a> Outputs<'a> {
    /// The number of outputs.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// Output `index`; INVALID_ARGUMENT if there is none.
    pub fn view(&self, index: usize) -> Result<TensorView<'a>> {
        self.views.get(index).copied().ok_or_else(|| no_output(index))
    }

    /// The output of this name; INVALID_ARGUMENT if there is none.
    pub fn named(&self, name: &str) -> Result<TensorView<'a>> {
        let index = self.executable.outputs().iter().position(|output| output.name == name);
        index.map(|index| self.views[index]).ok_or_else(|| invalid(format!("there is no output {:?}", name)))
    }

    /// The elements of output `index`, as [`TensorView::as_slice`] has them.
    pub fn get<T: Element>(&self, index: usize) -> Result<&'a [T]> {
        self.view(index)?.as_slice()
    }

    /// The dim sizes of output `index`; INVALID_ARGUMENT if there is none.
    pub fn shape(&self, index: usize) -> Result<&[i64]> {
        Ok(self.views.get(index).ok_or_else(|| no_output(index))?.shape())
    }

    /// The element type of output `index`.
    pub fn dtype(&self, index: usize) -> Result<DType> {
        Ok(self.view(index)?.dtype())
    }

    /// All outputs in order.
    pub fn iter(&self) -> slice::Iter<'_, TensorView<'a>> {
        self.views.iter()
    }
}

/// Panics if there is no such output, as indexing a slice does.
impl<'a> Index<usize> for Outputs<'a> {
    type Output = TensorView<'a>;
    fn index(&self, index: usize) -> &TensorView<'a> {
        &self.views[index]
    }
}

impl<'o, 'a> IntoIterator for &'o Outputs<'a> {
    type Item = &'o TensorView<'a>;
    type IntoIter = slice::Iter<'o, TensorView<'a>>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

pub(crate) fn no_output(index: usize) -> crate::Error {
    invalid(format!("there is no output {}", index))
}
