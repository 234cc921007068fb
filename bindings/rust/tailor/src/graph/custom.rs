//! Custom operators: nodes that functions of the host compute.

use super::{chars, handles, DimSize, Graph, Value};
use crate::{sys, DType, Result};

/// The type of a result of a custom operator.
#[derive(Clone, Copy, Debug)]
pub struct CustomResult<'a> {
    /// The element type.
    pub dtype: DType,
    /// The dim sizes.
    pub dims: &'a [DimSize],
    /// The dim whose size is a bound: the function counts how much of it is used, and the value has only that much.
    pub counted_dim: Option<usize>,
}

/// The options of a call of a custom operator.
#[derive(Clone, Copy, Debug, Default)]
pub struct CustomOptions<'a> {
    /// A text for the function, by convention a JSON object.
    pub attributes: &'a str,
    /// Calls have effects, or results that differ within a run: equal ones are not merged, unused ones not dropped.
    pub impure: bool,
}

impl Graph {
    /// The results of the custom operator `name`, which the runtime that loads the executable must have
    /// ([`Runtime::register`](crate::Runtime::register)). Its function gets results of these dim sizes, and after them an i64
    /// `[]` for each counted one, in order, which it sets to a number from 0 to the bound. The dim size of that value is then a
    /// new symbol.
    pub fn custom(
        &self,
        name: &str,
        operands: &[Value<'_>],
        results: &[CustomResult<'_>],
        options: CustomOptions<'_>,
    ) -> Result<Vec<Value<'_>>> {
        let operands = handles(operands);
        let dims = results.iter().map(|result| self.dims(result.dims)).collect::<Result<Vec<_>>>()?;
        let types: Vec<_> = results.iter().zip(&dims).map(|(result, dims)| result.to_c(dims)).collect();
        let options = sys::tailor_custom_options {
            attributes: chars(options.attributes),
            attributes_size: options.attributes.len(),
            impure: options.impure.into(),
            ..Default::default()
        };
        // SAFETY: the graph is live, and so are texts, arrays and options for the call.
        self.append_list(results.len(), |graph, out| unsafe {
            let (name, name_size) = (chars(name), name.len());
            let (operands, operand_count) = (operands.as_ptr(), operands.len());
            let (types, count) = (types.as_ptr(), types.len());
            sys::tailor_graph_custom(graph, name, name_size, operands, operand_count, types, count, &options, out)
        })
    }
}

impl CustomResult<'_> {
    fn to_c(self, dims: &[u64]) -> sys::tailor_custom_result {
        // A dim that is no i32 is no dim of any result: the library says so.
        let counted_dim = self.counted_dim.map_or(-1, |dim| dim.try_into().unwrap_or(i32::MAX));
        sys::tailor_custom_result { dims: dims.as_ptr(), rank: dims.len(), dtype: self.dtype.0, counted_dim }
    }
}
