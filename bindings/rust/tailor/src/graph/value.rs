//! Tensors of a graph: their types, and operators.

use std::fmt;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use super::{chars, Dim, Graph};
use crate::{sys, DType, Result};

/// A tensor of a graph. Operators follow the ops of their names and take values and numbers: `(x * 2.0)? + y`; `%` is
/// `rem`.
#[derive(Clone, Copy)]
pub struct Value<'g> {
    pub(super) graph: &'g Graph,
    pub(super) handle: u64,
}

/// An operand that need not be a value: a number is rounded to the element type of the operand before it.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// The handle of a value; one of another graph is refused where it is used.
    Value(u64),
    /// A number.
    Number(f64),
}

impl From<Value<'_>> for Operand {
    fn from(value: Value<'_>) -> Operand {
        Operand::Value(value.handle)
    }
}

impl From<f64> for Operand {
    fn from(number: f64) -> Operand {
        Operand::Number(number)
    }
}

impl From<i32> for Operand {
    fn from(number: i32) -> Operand {
        Operand::Number(number.into())
    }
}

impl Graph {
    /// The handle of an operand; a number becomes a scalar of the type of `like`.
    pub(super) fn operand(&self, operand: Operand, like: Value<'_>) -> Result<u64> {
        match operand {
            Operand::Value(handle) => Ok(handle),
            Operand::Number(number) => Ok(self.scalar(self.type_of(like)?.0, number)?.handle),
        }
    }

    fn type_of(&self, value: Value<'_>) -> Result<(DType, Vec<Dim<'_>>)> {
        let (mut dtype, mut rank, mut dims) = (0, 0, [0; crate::MAX_RANK]);
        // SAFETY: the graph is live, and the library writes at most MAX_RANK dims.
        self.call(|graph| unsafe {
            sys::tailor_graph_value_type(graph, value.handle, &mut dtype, &mut rank, dims.as_mut_ptr())
        })?;
        let dims = dims[..rank as usize].iter().map(|&handle| Dim { graph: self, handle }).collect();
        Ok((DType(dtype), dims))
    }
}

impl<'g> Value<'g> {
    /// The element type.
    pub fn dtype(self) -> Result<DType> {
        Ok(self.graph.type_of(self)?.0)
    }

    /// The dim sizes, for use in any shape of the same graph.
    pub fn shape(self) -> Result<Vec<Dim<'g>>> {
        Ok(self.graph.type_of(self)?.1)
    }

    /// Names the value, for messages, dumps and traces; returns it. An input keeps its own name.
    pub fn named(self, name: &str) -> Result<Value<'g>> {
        // SAFETY: the graph is live, and so is the text for the call.
        self.graph.call(|graph| unsafe { sys::tailor_graph_set_name(graph, self.handle, chars(name), name.len()) })?;
        Ok(self)
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dtype, dims) = self.graph.type_of(*self).map_err(|_| fmt::Error)?;
        write!(f, "{:?}{:?}", dtype, dims)
    }
}

macro_rules! operators {
    ($($operator:ident $method:ident $op:ident),*) => { $(
        impl<'g, R: Into<Operand>> $operator<R> for Value<'g> {
            type Output = Result<Value<'g>>;
            fn $method(self, rhs: R) -> Result<Value<'g>> {
                self.$op(rhs)
            }
        }

        impl<'g> $operator<Value<'g>> for f64 {
            type Output = Result<Value<'g>>;
            fn $method(self, rhs: Value<'g>) -> Result<Value<'g>> {
                rhs.graph.scalar(rhs.dtype()?, self)?.$op(rhs)
            }
        }
    )* };
}
operators!(Add add add, Sub sub sub, Mul mul mul, Div div div, Rem rem rem);

macro_rules! bit_operators {
    ($($operator:ident $method:ident $op:ident),*) => { $(
        impl<'g, R: Into<Operand>> $operator<R> for Value<'g> {
            type Output = Result<Value<'g>>;
            fn $method(self, rhs: R) -> Result<Value<'g>> {
                self.$op(rhs)
            }
        }
    )* };
}
bit_operators!(BitAnd bitand and, BitOr bitor or, BitXor bitxor xor, Shl shl shift_left, Shr shr shift_right);

impl<'g> Neg for Value<'g> {
    type Output = Result<Value<'g>>;
    fn neg(self) -> Result<Value<'g>> {
        Value::neg(self)
    }
}

impl<'g> Not for Value<'g> {
    type Output = Result<Value<'g>>;
    fn not(self) -> Result<Value<'g>> {
        Value::not(self)
    }
}
