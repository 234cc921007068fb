//! Dim sizes: symbols, and expressions over them.

use std::fmt;
use std::ops::{Add, Mul, RangeInclusive, Sub};

use super::{chars, Graph};
use crate::{sys, Result};

/// The facts of a symbol beyond its name. Every run checks it; results never depend on `likely`.
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'a> {
    /// The least value.
    pub min: i64,
    /// The greatest value.
    pub max: i64,
    /// All values are multiples of this number.
    pub multiple_of: i64,
    /// Values to specialise for.
    pub likely: &'a [i64],
}

impl Default for Symbol<'_> {
    fn default() -> Self {
        Symbol { min: 0, max: i32::MAX as i64, multiple_of: 1, likely: &[] }
    }
}

/// A symbol of a graph, or an expression over symbols: `(batch * 2)?`, `(2 - batch)?`.
#[derive(Clone, Copy)]
pub struct Dim<'g> {
    pub(super) graph: &'g Graph,
    pub(super) handle: u64,
}

/// One dim size of a shape: a [`Dim`] or an integer.
#[derive(Clone, Copy, Debug)]
pub enum DimSize {
    /// The handle of a dim; one of another graph is refused where it is used.
    Dim(u64),
    /// A constant.
    Constant(i64),
}

impl From<Dim<'_>> for DimSize {
    fn from(dim: Dim<'_>) -> DimSize {
        DimSize::Dim(dim.handle)
    }
}

impl From<i64> for DimSize {
    fn from(dim_size: i64) -> DimSize {
        DimSize::Constant(dim_size)
    }
}

/// The dim sizes of a shape, dims and integers mixed: `&dims![batch, 4]`.
#[macro_export]
macro_rules! dims {
    ($($dim_size:expr),* $(,)?) => { [$($crate::graph::DimSize::from($dim_size)),*] };
}

/// One of `tailor_dim_add` to `tailor_dim_equal`.
type DimFunction = unsafe extern "C" fn(*mut sys::tailor_graph, u64, u64, *mut u64) -> *mut sys::tailor_status;

impl Graph {
    /// Declares a symbol with default options.
    pub fn symbol(&self, name: &str) -> Result<Dim<'_>> {
        self.symbol_with(name, Symbol::default())
    }

    /// Declares a symbol.
    pub fn symbol_with(&self, name: &str, symbol: Symbol<'_>) -> Result<Dim<'_>> {
        let options = sys::tailor_symbol_options {
            min: symbol.min,
            max: symbol.max,
            multiple_of: symbol.multiple_of,
            likely: symbol.likely.as_ptr(),
            likely_count: symbol.likely.len(),
            ..Default::default()
        };
        // SAFETY, here and below: the graph is live, and so are texts and options for the call.
        self.new_dim(|graph, out| unsafe { sys::tailor_graph_symbol(graph, chars(name), name.len(), &options, out) })
    }

    /// A constant, to start arithmetic from. It may be negative where it is a term of others.
    pub fn dim(&self, dim_size: i64) -> Result<Dim<'_>> {
        self.new_dim(|graph, out| unsafe { sys::tailor_graph_dim(graph, dim_size, out) })
    }

    /// States that two dim sizes are equal: compilation uses it, every run checks it.
    pub fn assume_equal(&self, lhs: impl Into<DimSize>, rhs: impl Into<DimSize>) -> Result<()> {
        let (lhs, rhs) = (self.dim_size(lhs.into())?, self.dim_size(rhs.into())?);
        self.call(|graph| unsafe { sys::tailor_graph_assume_equal(graph, lhs, rhs) })
    }

    /// States that lhs >= rhs: compilation uses it, every run checks it. Messages name the reason `what`, if it is
    /// not empty: "{what}: height + 2 is 2, but must be at least 3".
    pub fn assume_at_least(&self, lhs: impl Into<DimSize>, rhs: impl Into<DimSize>, what: &str) -> Result<()> {
        let (lhs, rhs) = (self.dim_size(lhs.into())?, self.dim_size(rhs.into())?);
        self.call(|graph| unsafe {
            sys::tailor_graph_assume_at_least(graph, lhs, rhs, chars(what), what.len())
        })
    }

    pub(super) fn dims(&self, dim_sizes: &[DimSize]) -> Result<Vec<u64>> {
        dim_sizes.iter().map(|&dim_size| self.dim_size(dim_size)).collect()
    }

    pub(super) fn dim_size(&self, dim_size: DimSize) -> Result<u64> {
        match dim_size {
            DimSize::Dim(handle) => Ok(handle),
            DimSize::Constant(dim_size) => Ok(self.dim(dim_size)?.handle),
        }
    }

    fn new_dim(
        &self,
        function: impl FnOnce(*mut sys::tailor_graph, *mut u64) -> *mut sys::tailor_status,
    ) -> Result<Dim<'_>> {
        let mut handle = 0;
        self.call(|graph| function(graph, &mut handle))?;
        Ok(Dim { graph: self, handle })
    }

    fn combine(&self, function: DimFunction, lhs: DimSize, rhs: DimSize) -> Result<Dim<'_>> {
        let (lhs, rhs) = (self.dim_size(lhs)?, self.dim_size(rhs)?);
        self.new_dim(|graph, out| unsafe { function(graph, lhs, rhs, out) })
    }
}

impl<'g> Dim<'g> {
    /// The quotient, rounded down; the divisor is checked to be above 0.
    pub fn floordiv(self, rhs: impl Into<DimSize>) -> Result<Dim<'g>> {
        self.graph.combine(sys::tailor_dim_floordiv, self.into(), rhs.into())
    }

    /// The remainder of [`floordiv`](Dim::floordiv), never negative.
    pub fn mod_(self, rhs: impl Into<DimSize>) -> Result<Dim<'g>> {
        self.graph.combine(sys::tailor_dim_mod, self.into(), rhs.into())
    }

    /// The smaller of the two.
    pub fn min(self, rhs: impl Into<DimSize>) -> Result<Dim<'g>> {
        self.graph.combine(sys::tailor_dim_min, self.into(), rhs.into())
    }

    /// The greater of the two.
    pub fn max(self, rhs: impl Into<DimSize>) -> Result<Dim<'g>> {
        self.graph.combine(sys::tailor_dim_max, self.into(), rhs.into())
    }

    /// The quotient, rounded up; the divisor is checked to be above 0.
    pub fn ceildiv(self, rhs: impl Into<DimSize>) -> Result<Dim<'g>> {
        self.graph.combine(sys::tailor_dim_ceildiv, self.into(), rhs.into())
    }

    /// The quotient, rounded towards 0; the divisor is checked to be above 0.
    pub fn truncdiv(self, rhs: impl Into<DimSize>) -> Result<Dim<'g>> {
        self.graph.combine(sys::tailor_dim_truncdiv, self.into(), rhs.into())
    }

    /// The remainder of [`truncdiv`](Dim::truncdiv); it has the sign of `self`.
    pub fn truncmod(self, rhs: impl Into<DimSize>) -> Result<Dim<'g>> {
        self.graph.combine(sys::tailor_dim_truncmod, self.into(), rhs.into())
    }

    /// 1 if `self < rhs`, else 0.
    pub fn less(self, rhs: impl Into<DimSize>) -> Result<Dim<'g>> {
        self.graph.combine(sys::tailor_dim_less, self.into(), rhs.into())
    }

    /// 1 if the two are equal, else 0.
    pub fn equal(self, rhs: impl Into<DimSize>) -> Result<Dim<'g>> {
        self.graph.combine(sys::tailor_dim_equal, self.into(), rhs.into())
    }

    /// `lhs` if `self` is 1, `rhs` if it is 0; in every run it is 0 or 1.
    pub fn select(self, lhs: impl Into<DimSize>, rhs: impl Into<DimSize>) -> Result<Dim<'g>> {
        let (lhs, rhs) = (self.graph.dim_size(lhs.into())?, self.graph.dim_size(rhs.into())?);
        self.graph.new_dim(|graph, out| unsafe { sys::tailor_dim_select(graph, self.handle, lhs, rhs, out) })
    }

    /// The least and the greatest value in runs that the graph's checks accept, as far as is known from declarations, inputs
    /// and assumptions; `i64::MIN` and `i64::MAX`: no bound.
    pub fn range(self) -> Result<RangeInclusive<i64>> {
        let (mut min, mut max) = (0, 0);
        self.graph.call(|graph| unsafe { sys::tailor_dim_range(graph, self.handle, &mut min, &mut max) })?;
        Ok(min..=max)
    }

    /// Whether the two are equal in every such run (`Some(true)`) or in none (`Some(false)`); `None`: unknown, or different
    /// from run to run. See [`equal`](Dim::equal) for a dim that says so in each run.
    pub fn is_equal(self, rhs: impl Into<DimSize>) -> Result<Option<bool>> {
        self.compare(rhs.into(), sys::TAILOR_DIM_EQUAL)
    }

    /// The same for `self < rhs`.
    pub fn is_less(self, rhs: impl Into<DimSize>) -> Result<Option<bool>> {
        self.compare(rhs.into(), sys::TAILOR_DIM_LESS)
    }

    /// The same for `self <= rhs`.
    pub fn is_at_most(self, rhs: impl Into<DimSize>) -> Result<Option<bool>> {
        self.compare(rhs.into(), sys::TAILOR_DIM_AT_MOST)
    }

    fn compare(self, rhs: DimSize, relation: i32) -> Result<Option<bool>> {
        let (rhs, mut result) = (self.graph.dim_size(rhs)?, -1);
        self.graph.call(|graph| unsafe { sys::tailor_dim_compare(graph, self.handle, rhs, relation, &mut result) })?;
        Ok(if result < 0 { None } else { Some(result != 0) })
    }

    /// The canonical text: `4*S + 1`.
    pub fn text(self) -> Result<String> {
        self.graph.read_text(|graph, out| unsafe { sys::tailor_dim_text(graph, self.handle, out) })
    }
}

impl fmt::Display for Dim<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text().map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Dim<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

macro_rules! operators {
    ($($operator:ident $method:ident $function:ident),*) => { $(
        impl<'g, R: Into<DimSize>> $operator<R> for Dim<'g> {
            type Output = Result<Dim<'g>>;
            fn $method(self, rhs: R) -> Result<Dim<'g>> {
                self.graph.combine(sys::$function, self.into(), rhs.into())
            }
        }

        impl<'g> $operator<Dim<'g>> for i64 {
            type Output = Result<Dim<'g>>;
            fn $method(self, rhs: Dim<'g>) -> Result<Dim<'g>> {
                rhs.graph.combine(sys::$function, self.into(), rhs.into())
            }
        }
    )* };
}
operators!(Add add tailor_dim_add, Sub sub tailor_dim_sub, Mul mul tailor_dim_mul);
