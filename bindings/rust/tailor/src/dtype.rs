//! Element types of tensors.

use std::fmt;

/// An element type; the numbers are those of `tailor/runtime.h`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DType(
    /// The number.
    pub i32,
);

macro_rules! dtypes {
    ($($name:ident $number:literal $text:literal),*) => {
        impl DType {
            $(#[doc = concat!("`", $text, "`.")] pub const $name: DType = DType($number);)*
            const NAMES: &'static [&'static str] = &[$($text),*];
        }
    };
}
dtypes!(BOOL 1 "bool", I8 2 "i8", I16 3 "i16", I32 4 "i32", I64 5 "i64", U8 6 "u8", U16 7 "u16", U32 8 "u32",
        U64 9 "u64", F16 10 "f16", BF16 11 "bf16", F32 12 "f32", F64 13 "f64");

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match DType::NAMES.get((self.0 as usize).wrapping_sub(1)) {
            Some(name) => f.write_str(name),
            None => write!(f, "element type {}", self.0),
        }
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A bool as tensors hold it: 0 or 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bool(
    /// 0 or 1.
    pub u8,
);

/// The bits of a half-precision number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16(
    /// IEEE 754 binary16.
    pub u16,
);

/// The bits of a bfloat16: the upper half of an `f32`'s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bf16(
    /// The upper half of an `f32`'s bits.
    pub u16,
);

/// Rust types that are element types of tensors.
///
/// # Safety
/// `DTYPE` must be a type with the same size and alignment, and no bit pattern may be invalid.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The element type of tensors of this type.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($type:ty => $dtype:ident),*) => { $(unsafe impl Element for $type { const DTYPE: DType = DType::$dtype; })* };
}
elements!(Bool => BOOL, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
          F16 => F16, Bf16 => BF16, f32 => F32, f64 => F64);
